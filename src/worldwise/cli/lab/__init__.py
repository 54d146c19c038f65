# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise lab`: its commands, by what they look at; with the writing of container images and of proposals."""
