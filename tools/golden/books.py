"""The books of the long-context slice: what is in them, and what is asked."""

from __future__ import annotations

from tools.golden.documents import Book

PEOPLE = (
    *("Anna", "Ben", "Carl", "Dora", "Emma", "Fred", "Greta", "Hugo", "Ida", "Jack", "Karen", "Leo", "Maria", "Nick"),
    *("Olga", "Paul", "Rosa", "Sam", "Tina", "Victor", "Wendy", "Alice", "Bruno", "Clara", "David", "Elena", "Frank"),
    *("Gina", "Henry", "Irene", "James", "Kate", "Louis", "Martha", "Nora", "Oscar", "Peter", "Quinn", "Ruth", "Simon"),
    *("Tom", "Ursula", "Vera", "Walter", "Zoe", "Adam", "Bella", "Cora", "Daniel", "Erik", "Flora", "Gavin", "Helen"),
    *("Isaac", "Julia", "Kevin", "Linda", "Marcus", "Nina", "Otto"),
)
SURNAMES = ("Berg", "Stone", "Hill", "Wood")
FULL_NAMES = tuple(f"{first} {SURNAMES[i % 4]}" for i, first in enumerate(PEOPLE + PEOPLE[1::2]))
CITIES = (
    *("Oslo", "Rome", "Paris", "London", "Madrid", "Vienna", "Dublin", "Athens", "Cairo", "Lima", "Tokyo", "Boston"),
    *("Berlin", "Prague", "Lisbon", "Warsaw", "Chicago", "Delhi", "Moscow", "Sydney"),
)
ANIMALS = ("dog", "cat", "horse", "goat", "duck", "rabbit", "parrot", "turtle", "pig", "cow", "sheep", "snake")
FOODS = ("bread", "cheese", "rice", "soup", "fish", "cake", "eggs", "apples", "beans", "honey", "butter", "corn")
COLORS = ("red", "blue", "green", "white", "black", "yellow", "brown", "gray")
JOBS = (
    "nurse",
    "baker",
    "teacher",
    "driver",
    "painter",
    "farmer",
    "judge",
    "doctor",
    "lawyer",
    "singer",
    "pilot",
    "cook",
)
THINGS = (
    "lamp",
    "chair",
    "table",
    "clock",
    "mirror",
    "carpet",
    "radio",
    "piano",
    "bicycle",
    "kettle",
    "ladder",
    "basket",
)
GOODS = ("timber", "coal", "wool", "salt", "iron", "cotton", "sugar", "coffee", "grain", "glass", "paper", "oil")
SHIPS = (
    *(
        "Alder",
        "Beacon",
        "Comet",
        "Dolphin",
        "Eagle",
        "Falcon",
        "Gull",
        "Heron",
        "Island",
        "Juniper",
        "Kestrel",
        "Lark",
    ),
    *(
        "Meteor",
        "Nimbus",
        "Orchid",
        "Pelican",
        "Quest",
        "Raven",
        "Swan",
        "Tiger",
        "Union",
        "Vulcan",
        "Willow",
        "Zephyr",
    ),
    *("Aurora", "Bison", "Cedar", "Diamond", "Ember", "Fox", "Granite", "Harvest", "Iris", "Jaguar", "Knight", "Lotus"),
    *(
        "Maple",
        "Neptune",
        "Ocean",
        "Phoenix",
        "Queen",
        "River",
        "Star",
        "Thunder",
        "Violet",
        "Whale",
        "Arrow",
        "Breeze",
    ),
    *("Crystal", "Dawn", "Echo", "Flame", "Glory", "Horizon", "Ivory", "Jewel", "Lion", "Mercury", "Nomad", "Opal"),
    *("Pearl", "Quartz", "Rose", "Silver", "Triton", "Unicorn", "Venus", "Wave", "Amber", "Bear", "Camel", "Dragon"),
    *(
        "Emerald",
        "Fortune",
        "Giant",
        "Hope",
        "Indigo",
        "Jupiter",
        "Kingfisher",
        "Lantern",
        "Moon",
        "Narwhal",
        "Otter",
        "Plover",
    ),
)
WEATHERS = (
    "in thick fog",
    "in heavy rain",
    "under a clear sky",
    "in a light wind",
    "at low tide",
    "shortly after dawn",
)

BOOKS = (
    Book(
        name="village-fair",
        title="Notes from the village fair",
        length="512",
        entries=32,
        key="person",
        forms=(
            "{person} brought a {animal} and sold some {food}.",
            "Then came {person} with a {animal}, who bought {food}.",
            "{person} showed a {animal} and won a basket of {food}.",
        ),
        columns={"person": PEOPLE[:32], "animal": ANIMALS, "food": FOODS},
        questions=(
            ("animal", "Which animal did {person} have at the fair?", "A {value}"),
            ("food", "Which food goes with {person} in the notes?", "{value}"),
        ),
        asked=14,
        fillers=(
            "The band played and the children danced in the square.",
            "It was hot, and the lemonade ran out early.",
        ),
        filler_every=4,
    ),
    Book(
        name="guest-list",
        title="Guest list of the Hotel Sunrise",
        length="512",
        entries=32,
        key="person",
        forms=(
            "{person} from {city} is a {job} and has the {color} room.",
            "The {color} room went to {person}, a {job} from {city}.",
        ),
        columns={"person": PEOPLE[20:52], "city": CITIES, "job": JOBS, "color": COLORS},
        questions=(
            ("city", "Which city is {person} from?", "{value}"),
            ("job", "What is the job of {person}?", "A {value}"),
        ),
        asked=14,
        fillers=("Breakfast is served from seven until ten.", "Please leave the key at the front desk."),
        filler_every=5,
    ),
    Book(
        name="lost-property",
        title="Lost property office, list of the month",
        length="512",
        entries=32,
        key="person",
        forms=(
            "{person} lost a {color} {thing} in {city}.",
            "A {color} {thing}, found in {city}, belongs to {person}.",
        ),
        columns={"person": PEOPLE[10:42], "thing": THINGS, "color": COLORS, "city": CITIES},
        questions=(
            ("thing", "What did {person} lose?", "A {value}"),
            ("city", "In which city did {person} lose something?", "{value}"),
        ),
        asked=14,
        fillers=("Things that nobody asks for are sold in the spring.", "The office is closed at noon."),
        filler_every=4,
    ),
    Book(
        name="letters",
        title="Letters that the postman carried this week",
        length="512",
        entries=32,
        key="person",
        forms=(
            "{person} wrote from {city} and asked for {food}.",
            "A card from {person}, now in {city}, praised the {food}.",
        ),
        columns={"person": PEOPLE[28:60], "city": CITIES, "food": FOODS},
        questions=(
            ("city", "Where was {person} when writing?", "In {value}"),
            ("food", "Which food did {person} mention?", "{value}"),
        ),
        asked=14,
        fillers=(
            "On Wednesday the bridge was closed, and everything came late.",
            "The last bag was wet from the rain.",
        ),
        filler_every=4,
    ),
    Book(
        name="harbor-log",
        title="Log of the harbor, spring",
        length="1k",
        entries=56,
        key="ship",
        forms=(
            "The {ship} came in from {city} {weather} with a load of {goods}.",
            "With {goods} on board the {ship} arrived from {city} {weather}.",
        ),
        columns={"ship": SHIPS[:56], "city": CITIES, "goods": GOODS, "weather": WEATHERS},
        questions=(
            ("goods", "What did the {ship} carry?", "{value}"),
            ("city", "Where did the {ship} come from?", "{value}"),
        ),
        asked=14,
        fillers=(
            "The crane stood still for repairs until the evening.",
            "Two tugs were sent out to help a fishing boat.",
        ),
        filler_every=6,
    ),
    Book(
        name="school-trip",
        title="Report on the school trip",
        length="1k",
        entries=52,
        key="person",
        forms=(
            "{person} sat beside the {animal} cage, ate {food} and wore a {color} cap.",
            "In the {color} cap was {person}, who fed a {animal} and shared some {food}.",
        ),
        columns={"person": PEOPLE[:52], "animal": ANIMALS, "food": FOODS, "color": COLORS},
        questions=(
            ("animal", "Which animal is named together with {person}?", "The {value}"),
            ("color", "What color was the cap of {person}?", "{value}"),
        ),
        asked=14,
        fillers=(
            "The bus was late, so the group sang songs in the parking lot.",
            "After lunch it rained a little, but nobody wanted to leave.",
        ),
        filler_every=6,
    ),
    Book(
        name="shipping-year",
        title="Yearbook of the shipping office",
        length="2k",
        entries=84,
        key="ship",
        forms=(
            "The {ship}, under captain {person}, sailed for {city} {weather} and carried {goods}.",
            "Captain {person} took the {ship} to {city} {weather}; her cargo was {goods}.",
            "Loaded with {goods}, the {ship} left for {city} {weather}; {person} was captain.",
        ),
        columns={"ship": SHIPS[:84], "person": PEOPLE[:60], "city": CITIES, "goods": GOODS, "weather": WEATHERS},
        questions=(
            ("goods", "What did the {ship} carry?", "{value}"),
            ("city", "To which city did the {ship} sail?", "{value}"),
            ("person", "Who was the captain of the {ship}?", "{value}"),
        ),
        asked=15,
        fillers=(
            "In that week the office was painted, and all papers lay in the hall.",
            "A storm tore down the flag, and a new one had to be sewn.",
            "The clerk was ill, and the harbor master kept the book himself.",
        ),
        filler_every=5,
    ),
    Book(
        name="town-register",
        title="Register of the new citizens of the town",
        length="2k",
        entries=85,
        key="person",
        forms=(
            "{person}, a {job}, moved here from {city}, keeps a {animal} and lives in the {color} house.",
            "In the {color} house lives {person}, who came from {city}, works as a {job} and owns a {animal}.",
            "A {job} named {person} came from {city} with a {animal} and took the {color} house.",
        ),
        columns={"person": FULL_NAMES[:85], "city": CITIES, "job": JOBS, "animal": ANIMALS, "color": COLORS},
        questions=(
            ("job", "What is the job of {person}?", "A {value}"),
            ("city", "Which city did {person} come from?", "{value}"),
            ("animal", "Which animal does {person} have?", "A {value}"),
        ),
        asked=15,
        fillers=(
            "The mayor spoke for an hour, and coffee was served.",
            "Some papers were missing and were brought the next day.",
            "The old bell rang at noon, as it always does.",
        ),
        filler_every=6,
    ),
)
