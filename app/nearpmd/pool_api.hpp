// SPDX-License-Identifier: BSD-3-Clause
// The pool's C API, where a function and a struct share a name as stat() and struct stat do.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <page_pool.h>
#pragma GCC diagnostic pop
