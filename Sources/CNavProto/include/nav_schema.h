#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

// One file of the schema: a slice of nav_descriptor_set that is by itself a FileDescriptorSet of that file.
typedef struct nav_file {
  const char *name;
  uint32_t offset;
  uint32_t size;
} nav_file;

// One message type: its descriptor, and the indices of all files it needs, dependencies first.
typedef struct nav_message {
  const ProtobufCMessageDescriptor *descriptor;
  const uint16_t *files;
  size_t file_count;
} nav_message;

// The FileDescriptorSet of the whole schema, self-contained.
extern const uint8_t nav_descriptor_set[];
extern const size_t nav_descriptor_set_size;

extern const nav_file nav_files[];
extern const size_t nav_file_count;

extern const nav_message nav_messages[];
extern const size_t nav_message_count;

static inline const uint8_t *nav_schema_bytes(void) { return nav_descriptor_set; }
static inline const nav_file *nav_schema_file(size_t index) { return &nav_files[index]; }
static inline const nav_message *nav_schema_message(size_t index) { return &nav_messages[index]; }
