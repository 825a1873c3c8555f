import type { MigrationInterface } from 'typeorm';

/** Every migration, oldest first. */
export const MIGRATIONS: (new () => MigrationInterface)[] = [];
