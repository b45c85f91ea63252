"""The quick-starts: for each a schema, the field that is the key, and how a record is drawn.

Fields and ranges are those of Confluent's generator. A record is made from its number and a `Random` that was
seeded with it, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from penstock.connect.data import schema as s
from penstock.connect.data.schema import Schema
from penstock.connect.data.struct import Struct

Draw = Callable[[int, Random], Any]


class Quickstart(NamedTuple):
    schema: Schema
    key: str
    fields: dict[str, Draw]

    def record(self, number: int, random: Random) -> Struct:
        return Struct(self.schema, {name: draw(number, random) for name, draw in self.fields.items()})


def _one(*words: Any) -> Draw:
    return lambda _, random: random.choice(words)


def _whole(least: int, end: int) -> Draw:
    return lambda _, random: random.randrange(least, end)


def _real(least: float, end: float, digits: int = 4) -> Draw:
    return lambda _, random: round(random.uniform(least, end), digits)


def _named(prefix: str, least: int, end: int) -> Draw:
    return lambda _, random: f"{prefix}{random.randrange(least, end)}"


def _count(start: int = 0, step: int = 1) -> Draw:
    return lambda number, _: start + number * step


def _made(name: str, key: str, /, **fields: tuple[Schema, Draw]) -> Quickstart:
    schema = s.struct_schema({each: kind for each, (kind, _) in fields.items()}, name=f"ksql.{name}")
    return Quickstart(schema, key, {each: draw for each, (_, draw) in fields.items()})


_TEXT, _INT, _LONG, _DOUBLE = s.STRING, s.INT32, s.INT64, s.FLOAT64
_ADDRESS: Final = s.struct_schema({"city": _TEXT, "state": _TEXT, "zipcode": _LONG}, name="ksql.address")
_CITIES: Final = ("Palo Alto", "San Francisco", "Raleigh", "London", "Frankfurt", "New York")
_FIRST: Final = (
    "Elwyn",
    "Curran",
    "Hanson",
    "Woodrow",
    "Ferd",
    "Reeva",
    "Antonio",
    "Arlyne",
    "Dimitri",
    "Lauren",
)
_LAST: Final = ("Vanyard", "Lalonde", "Rome", "Trice", "McNirlin", "Jewell", "Garrity", "Coomer", "Tomini")
_REQUESTS: Final = tuple(
    f"GET {page} HTTP/1.1"
    for page in (
        "/index.html",
        "/site/login.html",
        "/site/user_status.html",
        "/images/track.png",
        "/images/logo-small.png",
    )
)
_AGENTS: Final = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/59.0.3071.115 "
    "Safari/537.36",
)
_CODES: Final = {
    200: "Successful",
    302: "Redirect",
    404: "Page not found",
    405: "Method not allowed",
    406: "Not acceptable",
    407: "Proxy authentication required",
}


def _address(_: int, random: Random) -> Struct:
    number = random.randrange(10, 100)
    return Struct(
        _ADDRESS,
        {"city": f"City_{number}", "state": f"State_{number}", "zipcode": random.randrange(10000, 100000)},
    )


def _ip(_: int, random: Random) -> str:
    return random.choice(
        ("111.152.45.45", "111.203.236.146", "111.168.57.122", "111.249.79.93", "222.168.57.122")
    )


def _account(_: int, random: Random) -> str:
    return random.choice(("ABC", "LMN", "XYZ")) + str(random.choice((123, 456, 789)))


QUICKSTARTS: Final[dict[str, Quickstart]] = {
    "users": _made(
        "users",
        "userid",
        registertime=(_LONG, _whole(1487715775521, 1519273364600)),
        userid=(_TEXT, _named("User_", 1, 10)),
        regionid=(_TEXT, _named("Region_", 1, 10)),
        gender=(_TEXT, _one("MALE", "FEMALE", "OTHER")),
    ),
    "pageviews": _made(
        "pageviews",
        "viewtime",
        viewtime=(_LONG, _count(1, 10)),
        userid=(_TEXT, _named("User_", 1, 10)),
        pageid=(_TEXT, _named("Page_", 10, 100)),
    ),
    "orders": _made(
        "orders",
        "orderid",
        ordertime=(_LONG, _whole(1487715775521, 1519273364600)),
        orderid=(_INT, _count()),
        itemid=(_TEXT, _named("Item_", 1, 1000)),
        orderunits=(_DOUBLE, _real(0.1, 10.0)),
        address=(_ADDRESS, _address),
    ),
    "stock_trades": _made(
        "StockTrade",
        "symbol",
        side=(_TEXT, _one("BUY", "SELL")),
        quantity=(_INT, _whole(1, 5001)),
        symbol=(_TEXT, _one("ZBZX", "ZJZZT", "ZTEST", "ZVV", "ZVZZT", "ZWZZT", "ZXZZT")),
        price=(_INT, _whole(5, 1001)),
        account=(_TEXT, _account),
        userid=(_TEXT, _named("User_", 1, 10)),
    ),
    "clickstream": _made(
        "clickstream",
        "ip",
        ip=(_TEXT, _ip),
        userid=(_INT, _whole(1, 40)),
        remote_user=(_TEXT, _one("-")),
        time=(_TEXT, lambda number, _: str(1 + number * 10)),
        _time=(_LONG, _count(1, 10)),
        request=(_TEXT, _one(*_REQUESTS)),
        status=(_TEXT, _one("200", "302", "404", "405", "406", "407")),
        bytes=(_TEXT, _one("278", "1289", "2048", "4096", "4006", "4196", "14096")),
        referrer=(_TEXT, _one("-")),
        agent=(_TEXT, _one(*_AGENTS)),
    ),
    "clickstream_codes": _made(
        "clickstream_codes",
        "code",
        code=(_INT, lambda number, _: tuple(_CODES)[number % len(_CODES)]),
        definition=(_TEXT, lambda number, _: tuple(_CODES.values())[number % len(_CODES)]),
    ),
    "clickstream_users": _made(
        "clickstream_users",
        "user_id",
        user_id=(_INT, _count(1)),
        username=(_TEXT, _named("user_", 1, 100)),
        registered_at=(_LONG, _whole(1407645330000, 1502339792000)),
        first_name=(_TEXT, _one(*_FIRST)),
        last_name=(_TEXT, _one(*_LAST)),
        city=(_TEXT, _one(*_CITIES)),
        level=(_TEXT, _one("Gold", "Silver", "Platinum")),
    ),
    "ratings": _made(
        "ratings",
        "rating_id",
        rating_id=(_LONG, _count(1)),
        user_id=(_INT, _whole(-1, 20)),
        stars=(_INT, _whole(1, 6)),
        route_id=(_INT, _whole(0, 10_000)),
        rating_time=(_LONG, _count(1, 12)),
        channel=(_TEXT, _one("web", "ios", "android", "iOS-test")),
        message=(
            _TEXT,
            _one(
                "thank you for the most friendly, helpful experience today",
                "worst. flight. ever.",
                "more peanuts please",
                "your team here rocks!",
                "airport refurb looks great",
            ),
        ),
    ),
    "inventory": _made(
        "inventory",
        "id",
        id=(_LONG, _count()),
        quantity=(_INT, _whole(1, 101)),
        productid=(_INT, _whole(1, 101)),
    ),
    "product": _made(
        "product",
        "id",
        id=(_LONG, _count()),
        name=(_TEXT, _named("Product_", 1, 1000)),
        description=(_TEXT, _named("Description of ", 1, 1000)),
        price=(_DOUBLE, _real(1, 1000, 2)),
    ),
    "purchases": _made(
        "purchases",
        "id",
        id=(_LONG, _count()),
        item_type=(_TEXT, _one("books", "clothes", "electronics", "food", "toys")),
        quantity=(_INT, _whole(1, 10)),
        price_per_unit=(_DOUBLE, _real(1, 100, 2)),
    ),
    "transactions": _made(
        "transactions",
        "transaction_id",
        transaction_id=(_LONG, _count(1)),
        card_id=(_LONG, _whole(1, 30)),
        user_id=(_TEXT, _named("User_", 1, 10)),
        purchase_id=(_LONG, _count()),
        store_id=(_INT, _whole(1, 8)),
    ),
    "stores": _made(
        "stores",
        "store_id",
        store_id=(_INT, _count(1)),
        city=(_TEXT, _one(*_CITIES)),
        state=(_TEXT, _one("CA", "NC", "NY", "TX", "WA")),
    ),
    "credit_cards": _made(
        "credit_cards",
        "card_id",
        card_id=(_LONG, _count(1)),
        card_number=(
            _TEXT,
            lambda _, random: "-".join(str(random.randrange(1000, 10000)) for _part in range(4)),
        ),
        cvv=(_TEXT, _named("", 100, 1000)),
        expiration_date=(_TEXT, _one("01/27", "06/27", "03/28", "12/28")),
    ),
}
