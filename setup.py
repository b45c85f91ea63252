"""The one part of the build that pyproject.toml cannot say: the record walk as C, where a compiler is found.

The extension is optional: without Cython or a compiler the installation goes on and the pure-Python twin is
used.
"""

from setuptools import Extension, setup


def extensions() -> list[Extension]:
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    walk = Extension(
        "penstock.records._walk_native",
        ["src/penstock/records/_walk_native.pyx"],
        extra_compile_args=["-O3"],
        optional=True,
    )
    return list(cythonize([walk], quiet=True))


setup(ext_modules=extensions())
