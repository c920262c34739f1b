/*
 * defend - disables those features of a connection that an attacker's file could misuse. The
 * disabled features are triggers, unsafe functions in views and indexes, and writes to the
 * schema table.
 */
#ifndef STORAGE_DEFEND_H
#define STORAGE_DEFEND_H

#include <sqlite3.h>
#include <stddef.h>

static inline void sqlite_defend(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
}

#endif
