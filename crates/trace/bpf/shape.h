// What src/calls/shape.rs says of a row, unpacked.

#pragma once

#include "tally.h"

#define WANTED(shape) ((shape) & 1)
#define SIZE_RETURNED(shape) (((shape) >> 1 & 3) == 1)
#define SIZE_ARGUMENT(shape) (((shape) >> 1 & 3) == 2)
#define LENGTH_AT(shape) ((shape) >> 3 & 7)
#define FD_AT(shape) ((shape) >> 6 & 7)
#define SECOND_FD_AT(shape) ((shape) >> 9 & 7)
#define PATH_AT(shape) ((shape) >> 12 & 7)
#define DIRECTORY_AT(shape) ((shape) >> 15 & 7)
#define RETURNS_FD(shape) ((shape) >> 18 & 1)
#define NEVER_FAILS(shape) ((shape) >> 19 & 1)
#define SECOND_PATH_AT(shape) ((shape) >> 20 & 7)

const volatile u32 SHAPES[ROWS] = { 0 };

INLINE u32 row_of(u64 number)
{
	return number < CALL_ROWS ? number : CALL_ROWS - 1;
}
