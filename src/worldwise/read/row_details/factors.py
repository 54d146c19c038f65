# SPDX-License-Identifier: BSD-2-Clause
"""How many times as many instructions one row takes as another: the worlds, options, levels."""

from collections.abc import Iterable

from worldwise.read.models import Factor, FactorKind, Row


def with_ratios(rows: list[Row]) -> list[Row]:
    def key(row: Row) -> tuple[str, ...]:
        return (row.variant, row.operation, row.parameters, row.measure)

    # Plain Linux runs on other machines: its medians say nothing about what the TEE adds.
    linux = {key(row): row.median for row in rows if row.target == "linux"}
    return [
        row.model_copy(update={"ratio_to_linux": row.median / linux[key(row)]})
        if row.target == "optee" and key(row) in linux
        else row
        for row in rows
    ]


def factors(rows: Iterable[Row]) -> Iterable[Factor]:
    parts = ("board", "operation", "parameters", "measure", "place", "implementation", "optimisation")
    medians = {tuple(getattr(row, part) for part in parts): row.median for row in rows}
    # Each kind changes one part of the key and keeps the rest.
    worlds = [("place", place, "linux") for place in ("ta", "client")]
    extension = [("implementation", name, f"{name}-ce") for name in ("libtomcrypt", "mbedtls")]
    kinds: list[tuple[FactorKind, list[tuple[str, str, str]]]] = [
        ("nist-optim", [("implementation", "mbedtls", "mbedtls-nist")]),
        ("crypto-extension", extension),
        ("world", worlds),
        ("optimisation", [("optimisation", "Os", "O2")]),
    ]
    for kind, pairs in kinds:
        for part, numerator, denominator in pairs:
            at = parts.index(part)
            for key, value in medians.items():
                other = (*key[:at], denominator, *key[at + 1 :])
                if key[at] == numerator and other in medians:
                    named = dict(zip(parts, key, strict=True))
                    yield Factor(
                        kind=kind,
                        board=named["board"],
                        operation=named["operation"],
                        parameters=named["parameters"],
                        measure=named["measure"],
                        place=named["place"],
                        implementation=named["implementation"],
                        optimisation=named["optimisation"],
                        numerator=numerator,
                        denominator=denominator,
                        value=value / medians[other],
                    )
