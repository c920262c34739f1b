/*
 * stateless - a program in a VM opens no state: these stand before the library's tables of its
 * migrations and statements.
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
