/*
 * stateless - empty tables for a program in a VM, which opens no state. The empty tables
 * replace the library's tables of migrations and statements.
 */
#include "storage/stmt.h"
#include "storage/store_transfer.h"

const struct migration migration_table[1];
const int migration_count = 0;
const struct schema_object schema_table[1];
const int schema_count = 0;
const char schema_rows[1];
const struct statement statement_table[1];
const struct transfer_table transfer_table[1];
const int transfer_count = 0;
