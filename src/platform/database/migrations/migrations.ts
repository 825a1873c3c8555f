import type { MigrationInterface } from 'typeorm';
import { FirstSchema1763600000000 } from './1763600000000-first-schema.js';
import { SignIn1795177509268 } from './1795177509268-sign-in.js';
import { People1795178678364 } from './1795178678364-people.js';
import { ApiKeyRenewal1795178996403 } from './1795178996403-api-key-renewal.js';
import { SingleSignOn1795179634002 } from './1795179634002-single-sign-on.js';
import { Inventory1763640000000 } from './1763640000000-inventory.js';
import { KeyLifeAndFormats1795177554432 } from './1795177554432-key-life-and-formats.js';
import { Timestamps1795178831171 } from './1795178831171-timestamps.js';

/** Every migration, oldest first. */
export const MIGRATIONS: (new () => MigrationInterface)[] = [
  FirstSchema1763600000000,
  SignIn1795177509268,
  People1795178678364,
  ApiKeyRenewal1795178996403,
  SingleSignOn1795179634002,
  Inventory1763640000000,
  KeyLifeAndFormats1795177554432,
  Timestamps1795178831171,
];
