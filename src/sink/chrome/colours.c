/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * colours.c - the colours of slices, from colours.def.
 */
#include "chrome.h"

const char *const sqt_class_colours[SQT_CLASSES] = {
#define SQT_CLASS_COLOUR(CLASS, colour) [SQT_CLASS_##CLASS] = #colour,
#include "colours.def"
};

const char *const sqt_stage_colours[SQT_STAGES + 1] = {
#define SQT_STAGE_COLOUR(STAGE, colour) [SQT_STAGE_##STAGE] = #colour,
#include "colours.def"
    [SQT_UNACCOUNTED] = "grey",
};

const char *const sqt_block_colours[2] = {"rail_response", "rail_load"};

const char *const sqt_part_colours[SQT_IO_PARTS] = {
#define SQT_PART_COLOUR(PART, colour) [SQT_IO_##PART] = #colour,
#include "colours.def"
};
