"""The part of the build that pyproject.toml cannot say: what is written in Cython, where a compiler is found.

The extensions are optional: without Cython or a compiler the installation goes on with the pure-Python twins.
"""

from setuptools import Extension, setup

NATIVE = (
    "penstock.protocol._reader_native",
    "penstock.records._columns_native",
    "penstock.records._keys_native",
    "penstock.records._walk_native",
    "penstock.server.connections._sockets_native",
    "penstock.server.connections._turns_native",
    "penstock.storage._files_native",
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


setup(ext_modules=extensions())
