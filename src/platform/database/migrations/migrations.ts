import type { MigrationInterface } from 'typeorm';
import { FirstSchema1763600000000 } from './1763600000000-first-schema.js';
import { Inventory1763640000000 } from './1763640000000-inventory.js';

/** Every migration, oldest first. */
export const MIGRATIONS: (new () => MigrationInterface)[] = [FirstSchema1763600000000, Inventory1763640000000];
