"""The part of the build that pyproject.toml cannot say: loops over records as C, where a compiler is found.

The extensions are optional: without Cython or a compiler the installation goes on with the pure-Python twins.
"""

from setuptools import Extension, setup

NATIVE = ("penstock.records._walk_native", "penstock.wire._pack_native")


def extensions() -> list[Extension]:
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    modules = [
        Extension(name, [f"src/{name.replace('.', '/')}.pyx"], extra_compile_args=["-O3"], optional=True)
        for name in NATIVE
    ]
    return list(cythonize(modules, quiet=True, build_dir="build"))


setup(ext_modules=extensions())
