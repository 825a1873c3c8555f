import { describe, expect, it } from 'vitest';
import { asynchronousFault, synchronousDetail } from './replication.reader.js';

const SYNCHRONOUS = { names: 'ANY 1 (n2,n3)', commit: 'on', standbys: 2 };

describe('replication', () => {
  it('is ok if a commit returns once a standby has it on disk', () => {
    expect(asynchronousFault(SYNCHRONOUS)).toBeUndefined();
    expect(asynchronousFault({ ...SYNCHRONOUS, commit: 'remote_apply' })).toBeUndefined();
    expect(synchronousDetail(SYNCHRONOUS)).toContain('ANY 1 (n2,n3)');
  });

  it('can lose acknowledged writes if no commit waits for a standby, however many follow', () => {
    const fault = asynchronousFault({ ...SYNCHRONOUS, names: '' });
    expect(fault).toContain('synchronous_standby_names is empty, 2 standbys connected');
    expect(fault).toContain('a failover can lose the last acknowledged writes');
  });

  it.each(['off', 'local', 'remote_write'])('can lose acknowledged writes with synchronous_commit=%s', (commit) => {
    expect(asynchronousFault({ ...SYNCHRONOUS, commit })).toContain(`synchronous_commit=${commit}`);
  });

  it('reports that nothing can be committed while the required standby is missing', () => {
    expect(synchronousDetail({ ...SYNCHRONOUS, standbys: 0 })).toContain('nothing can be committed');
  });
});
