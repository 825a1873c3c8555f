import { describe, expect, it } from 'vitest';
import { epochFault, MIGRATION_NAMES as ALL, NEWEST_MIGRATION, SCHEMA_EPOCH, schemaFault } from './product-version.js';

const EPOCH = { minReader: SCHEMA_EPOCH, minWriter: SCHEMA_EPOCH };

describe('the database schema', () => {
  it('is accepted when every migration of this version was applied', () => {
    expect(schemaFault({ applied: ALL, epoch: EPOCH })).toBeUndefined();
  });

  it('is accepted when a later version has added to it', () => {
    expect(schemaFault({ applied: [...ALL, 'Later9999999999999'], epoch: EPOCH })).toBeUndefined();
  });

  it.each([[undefined], [[]]])('is reported as missing, with the command that creates it', (applied) => {
    expect(schemaFault({ applied, epoch: undefined })).toMatch(/no schema yet.*migrate/);
  });

  it('is reported with the name of a missing migration', () => {
    const fault = schemaFault({ applied: ALL.slice(0, -1), epoch: EPOCH });
    expect(fault).toContain(`1 migrations are missing, starting with ${NEWEST_MIGRATION}`);
    expect(fault).toContain('migrate');
  });

  it('is migrated if every migration replaced by the baseline was applied', () => {
    const fault = schemaFault({ applied: ['FirstSchema1763600000000', 'EndsAtProviders1798000048200'], epoch: EPOCH });
    expect(fault).toContain(`migrations are missing, starting with ${ALL[0]}`);
  });

  it('is reported as too old, with the version to migrate with first', () => {
    const fault = schemaFault({ applied: ['FirstSchema1763600000000'], epoch: EPOCH });
    expect(fault).toMatch(
      /older than the oldest one.*Run "sealwright-admin migrate" of version 0\.1\.0 \(commit [0-9a-f]{9}\) first\.$/,
    );
  });

  it.each([
    { minReader: SCHEMA_EPOCH + 1, minWriter: SCHEMA_EPOCH },
    { minReader: SCHEMA_EPOCH, minWriter: SCHEMA_EPOCH + 1 },
  ])('puts this version out of service if it is too new: %j', (epoch) => {
    expect(schemaFault({ applied: ALL, epoch })).toMatch(/too old.*Deploy/);
    expect(epochFault(epoch)).toMatch(/Deploy the version that migrated the schema/);
  });
});
