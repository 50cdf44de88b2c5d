"""The one compiled module. It is optional: without a compiler the build goes on, and the pure form does the work."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "warp_core._native",
            ["warp_core/_native.c"],
            optional=True,
            py_limited_api=True,
            extra_compile_args=["-O2", "-std=c11", "-ffp-contract=off"],  # no fused operations: sums as Python's
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
