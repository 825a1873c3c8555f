import type { MigrationInterface } from 'typeorm';
import { FirstSchema1763600000000 } from './1763600000000-first-schema.js';

/** Every migration, oldest first. */
export const MIGRATIONS: (new () => MigrationInterface)[] = [FirstSchema1763600000000];
