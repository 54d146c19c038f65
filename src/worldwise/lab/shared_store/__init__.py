# SPDX-License-Identifier: BSD-2-Clause
"""What many machines share: downloads, images and results by their addresses, in a folder or an object store."""
