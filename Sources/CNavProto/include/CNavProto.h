#pragma once

// Generated protobuf-c code, the embedded schema, and the arena that both directions of the codec run in.
#include "generated/all.h"
#include "nav_arena.h"
#include "nav_schema.h"
