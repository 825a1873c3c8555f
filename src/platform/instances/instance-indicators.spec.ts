import { describe, expect, it } from 'vitest';
import { clocksOf, workersAmong } from './instance-indicators.js';

const instance = (role: 'all' | 'api' | 'worker', agoMs: number, clockOffsetMs = 0) => ({
  id: '0',
  role,
  host: 'east',
  pid: 7,
  version: '1',
  schema: 's',
  startedAt: new Date(0),
  seenAt: new Date(0),
  clockOffsetMs,
  agoMs,
});

describe('workers', () => {
  it.each(['worker', 'all'] as const)('are up if a process with the role %s was seen', (role) => {
    expect(workersAmong([instance('api', 0), instance(role, 14_000)])).toEqual({
      status: 'UP',
      detail: '1 process does background work',
    });
  });

  it('are down if only an API process is up, and the most recently seen worker is named', () => {
    const { status, detail } = workersAmong([instance('api', 0), instance('worker', 16_000)]);
    expect(status).toBe('DOWN');
    expect(detail).toContain('no heartbeat from: worker east:7 (16 s)');
  });

  it('are no longer named long after they stopped', () => {
    expect(workersAmong([instance('all', 0), instance('worker', 16 * 60_000)]).detail).toBe(
      '1 process does background work',
    );
  });
});

describe('clocks', () => {
  it('are accurate within two seconds', () => {
    expect(clocksOf([instance('api', 0, -1999), instance('worker', 0, 2000)]).status).toBe('UP');
  });

  it('are reported with the process whose clock is wrong, whichever process answers', () => {
    expect(clocksOf([instance('all', 0), instance('api', 0, -600_000)])).toEqual({
      status: 'DOWN',
      detail: 'api east:7 is 600.0 s behind the database clock; synchronize the clocks with NTP',
    });
  });

  it('of stopped processes are ignored', () => {
    expect(clocksOf([instance('api', 20_000, -600_000)]).status).toBe('UP');
  });
});
