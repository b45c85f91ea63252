"""The part of the build that pyproject.toml cannot say: what is written in Cython, where a compiler is found,
and the examples, which stand beside the package and go into its wheel.

The extensions are optional: without Cython or a compiler the installation goes on with the pure-Python twins.
"""

import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

NATIVE = (
    "penstock.client.api._sent_native",
    "penstock.client.api._taken_native",
    "penstock.protocol._reader_native",
    "penstock.records._columns_native",
    "penstock.records._keys_native",
    "penstock.records._walk_native",
    "penstock.server.connections._plain_native",
    "penstock.server.connections._sockets_native",
    "penstock.server.connections._turns_native",
    "penstock.storage._files_native",
    "penstock.storage._tail_native",
    "penstock.wire._pack_native",
)


def extensions() -> list[Extension]:
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    sources = [Extension(name, [f"src/{name.replace('.', '/')}.pyx"]) for name in NATIVE]
    modules: list[Extension] = cythonize(sources, include_path=["src"], quiet=True, build_dir="build")
    for module in modules:
        module.extra_compile_args = ["-O3"]
        module.optional = True  # cythonize would forget it if it were said above
    return modules


class BuildWithExamples(build_py):
    """Copies `examples` into a wheel, as `penstock/_examples`; an editable install reads them in place."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode and Path("examples").is_dir():
            target = Path(self.build_lib, "penstock", "_examples")
            shutil.copytree(
                "examples", target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".*")
            )


setup(ext_modules=extensions(), cmdclass={"build_py": BuildWithExamples})
