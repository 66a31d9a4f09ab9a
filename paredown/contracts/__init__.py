"""The whole plug-in interface, one file a kind. Standard library only: isolated environments import it too.

A plug-in is one file whose name is its name. It holds one constant, named after its kind (TECHNIQUE, ENGINE,
METRIC, SCORER, LOADSHAPE, LOADER), that declares facts as data (readable without importing any heavy library) and
binds the functions that act. Heavy libraries are imported inside those functions. Plug-ins never import each other;
generic code never asks which one it holds: a difference is a declared fact or another function.
"""

from paredown.contracts.engine import (
    Batching,
    Engine,
    GenerationRequest,
    GenerationSession,
    KvCacheUse,
    OpenContext,
    OpenedEngine,
    ScoreRequest,
    ScoreResult,
    ScoringLevel,
    ScoringSession,
    ServedBy,
    ServerCommand,
    StepOutput,
)
from paredown.contracts.load_shape import Clock, LoadShape, LoadStep, Send
from paredown.contracts.loader import Loader, RawRow
from paredown.contracts.metric import Evidence, Metric
from paredown.contracts.needs import Environment, Needs, Option
from paredown.contracts.scorer import Scorer
from paredown.contracts.technique import Applied, ApplyContext, PlanFacts, Technique
from paredown.records.artifact import Artifact, LayerLeft, ModelFacts
from paredown.records.candidate import LeftOut, Proposal, Rung
from paredown.records.events import Trial
from paredown.records.figure import Figure, Options, Samples, Scalar
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.records.machine import Machine
from paredown.records.traffic import TrafficRequest

# fmt: off
__all__ = [  # also the records that plug-ins make, so that one import is enough
    "Answer", "Applied", "ApplyContext", "Artifact", "Batching", "Clock", "Engine", "Environment", "Evidence",
    "Figure", "GenerationRequest", "GenerationSession", "GoldenItem", "KvCacheUse", "LayerLeft", "LeftOut",
    "LoadShape", "LoadStep", "Loader", "Machine", "Metric", "ModelFacts", "Needs", "OpenContext", "OpenedEngine",
    "Option", "Options", "PlanFacts", "Proposal", "RawRow", "Rung", "Samples", "Scalar", "Score", "ScoreRequest",
    "ScoreResult", "Scorer", "ScoringLevel", "ScoringSession", "Send", "ServedBy", "ServerCommand", "StepOutput",
    "Technique", "TrafficRequest", "Trial",
]
# fmt: on
