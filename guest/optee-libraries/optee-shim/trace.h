/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRACE_H
#define TRACE_H

#define EMSG(...) ((void)0)
#define FMSG(...) ((void)0)

#endif /* TRACE_H */
