import type { MigrationInterface } from 'typeorm';
import { FirstSchema1763600000000 } from './1763600000000-first-schema.js';
import { Inventory1763640000000 } from './1763640000000-inventory.js';
import { KeyLifeAndFormats1795177554432 } from './1795177554432-key-life-and-formats.js';
import { Timestamps1795178831171 } from './1795178831171-timestamps.js';

/** Every migration, oldest first. */
export const MIGRATIONS: (new () => MigrationInterface)[] = [
  FirstSchema1763600000000,
  Inventory1763640000000,
  KeyLifeAndFormats1795177554432,
  Timestamps1795178831171,
];
