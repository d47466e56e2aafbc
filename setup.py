"""What pyproject.toml can't say: an installed wheel takes no name but `apiserver_gateway`.

The packages of the server lie at the top of the repository, and in `apiserver_gateway/_server` of a wheel, where nobody
but the server's own process has them on its path. An editable install leaves them where they are.
"""

import sys

from setuptools import find_packages, setup

SERVER = ("gateway", "storage")
PLACES = {top: top if "editable_wheel" in sys.argv else f"apiserver_gateway._server.{top}" for top in SERVER}
FOUND = find_packages(include=["apiserver_gateway*", *(f"{top}*" for top in SERVER)])


def placed(package: str) -> str:
    """Where a package of the repository is in what is installed."""
    top, dot, rest = package.partition(".")
    return f"{PLACES.get(top, top)}{dot}{rest}"


setup(
    packages=[placed(package) for package in FOUND],
    package_dir={place: top for top, place in PLACES.items()},
    package_data={
        "apiserver_gateway": ["py.typed"],
        PLACES["gateway"]: ["**/*.json", "trials/*.html", "py.typed"],
        PLACES["storage"]: ["py.typed"],
    },
    exclude_package_data={"": ["README.md"]},  # the pages of the rooms are for readers of the repository
)
