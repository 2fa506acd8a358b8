#include "nav_arena.h"

#include <stdlib.h>

enum { first_chunk = 8192, chunk_head = 16 };

void *nav_arena_grow(nav_arena *arena, size_t size) {
  size_t wanted = arena->taken < first_chunk ? first_chunk : arena->taken;
  if (size > arena->limit || arena->taken > arena->limit - size) {
    arena->exhausted = 1;
    return NULL;
  }
  if (wanted < size) wanted = size;
  if (wanted > arena->limit - arena->taken) wanted = arena->limit - arena->taken;
  if (wanted < size) wanted = size;
  size_t bytes = chunk_head + ((wanted + 15) & ~(size_t)7);
  uint8_t *chunk = malloc(bytes);
  if (chunk == NULL) {
    arena->exhausted = 1;
    return NULL;
  }
  *(void **)(void *)chunk = arena->chunks;
  arena->chunks = chunk;
  arena->taken += wanted;
  arena->cursor = chunk + chunk_head;
  arena->end = chunk + bytes;
  return nav_arena_alloc(arena, size);
}

void nav_arena_free(nav_arena *arena) {
  void *chunk = arena->chunks;
  while (chunk != NULL) {
    void *next = *(void **)chunk;
    free(chunk);
    chunk = next;
  }
  arena->chunks = NULL;
}

static void *arena_alloc(void *arena, size_t size) { return nav_arena_alloc(arena, size); }

static void arena_leave(void *arena, void *block) {
  (void)arena;
  (void)block;
}

ProtobufCAllocator nav_arena_allocator(nav_arena *arena) {
  ProtobufCAllocator allocator = {arena_alloc, arena_leave, arena};
  return allocator;
}
