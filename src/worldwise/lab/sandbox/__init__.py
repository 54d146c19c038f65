# SPDX-License-Identifier: BSD-2-Clause
"""The sandbox in which all is built and emulated: bubblewrap, its limits, and what goes in and out."""
