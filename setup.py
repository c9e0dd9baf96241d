"""Only what pyproject.toml cannot say: the cffi extension and its abi3 tag."""

import sysconfig

from setuptools import setup

# cffi turns the limited API off by itself on free-threaded Pythons; the tag must agree.
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    cffi_modules=["csrc/cffi_build.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if LIMITED else {},
)
