import { describe, expect, it } from 'vitest';
import type { InstanceRow } from '../../platform/instances/instance.repository.js';
import {
  examineBackup,
  examineInstances,
  examinePolicies,
  examineReplication,
  examineStreams,
  examineWebhooks,
} from './examinations.js';

const NOW = new Date('2026-11-26T03:00:00Z');
const process = (given: Partial<InstanceRow>): InstanceRow => ({
  id: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11',
  role: 'api',
  host: 'one',
  pid: 7,
  version: '1.0.0',
  schema: 'x',
  startedAt: NOW,
  seenAt: NOW,
  clockOffsetMs: 0,
  ...given,
});
const states = (...instances: InstanceRow[]) =>
  Object.fromEntries(examineInstances(instances, NOW).map(({ what, state }) => [what, state]));

describe('the backup', () => {
  const job = (given: object) => [{ name: 'backup', lastSuccessAt: NOW, ageSeconds: 3600, lastError: null, ...given }];

  it('is ok for a day after it succeeded', () => {
    expect(examineBackup(job({}), 'prod')).toMatchObject({
      state: 'ok',
      detail: 'the last successful backup is 60 min old',
    });
    expect(examineBackup(job({ ageSeconds: 27 * 3600 }), 'prod')).toMatchObject({
      state: 'warn',
      next: 'runbook: backup',
    });
  });

  it('is bad when the last attempt failed, with the reason', () => {
    expect(examineBackup(job({ lastError: 'The disk is full' }), 'prod')).toMatchObject({
      state: 'bad',
      detail: 'the last successful backup is 60 min old; the last attempt failed: The disk is full',
    });
  });

  it('is required in production only', () => {
    expect(examineBackup([], 'prod')).toMatchObject({ state: 'warn', detail: 'no backup has been recorded' });
    expect(examineBackup([], 'dev').state).toBe('ok');
  });
});

describe('the processes', () => {
  it('are ok with one API process and one worker', () => {
    expect(states(process({}), process({ role: 'worker' }))).toEqual({
      workers: 'ok',
      api: 'ok',
      missed: 'ok',
      versions: 'ok',
      clocks: 'ok',
    });
    expect(states(process({ role: 'all' }))).toMatchObject({ workers: 'ok', api: 'ok' });
  });

  it('are bad without a worker, and without an API process', () => {
    expect(states(process({}))).toMatchObject({ workers: 'bad', api: 'ok' });
    expect(states(process({ role: 'worker' }))).toMatchObject({ workers: 'ok', api: 'bad' });
    expect(states()).toMatchObject({ workers: 'bad', api: 'bad' });
  });

  it('that stopped unexpectedly are named, and do not count', () => {
    const gone = process({ role: 'worker', seenAt: new Date(NOW.getTime() - 20_000) });
    expect(states(process({}), gone)).toMatchObject({ workers: 'bad', missed: 'warn' });
  });

  it('of several versions mean a rolling update, and clock skew is bad', () => {
    expect(states(process({}), process({ role: 'worker', version: '1.1.0' }))).toMatchObject({ versions: 'warn' });
    expect(states(process({ clockOffsetMs: -1500 }))).toMatchObject({ clocks: 'bad' });
  });
});

describe('an audit log stream', () => {
  const stream = { name: 'siem', waiting: 3, oldestSeconds: 20, successSeconds: 5, lastError: null };

  it.each([
    ['ok', { waiting: 0, oldestSeconds: 0 }],
    ['ok', {}],
    ['warn', { lastError: 'ECONNREFUSED' }],
    ['bad', { oldestSeconds: 301 }],
  ])('is %s with %j', (state, changes) => {
    expect(examineStreams([{ ...stream, ...changes }])).toMatchObject([{ what: 'stream siem', state }]);
  });
});

describe('replication', () => {
  const state = (names: string, standbys: number, wanted: 'any' | 'required') =>
    examineReplication({ names, commit: 'on', standbys }, wanted).state;

  it('is ok when commits wait for a standby, and for a single server if nothing more is required', () => {
    expect(state('n2', 2, 'required')).toBe('ok');
    expect(state('', 0, 'any')).toBe('ok');
  });

  it('warns when standbys follow but no commit waits for one, and is bad if that was required', () => {
    expect(state('', 2, 'any')).toBe('warn');
    expect(state('', 2, 'required')).toBe('bad');
    expect(state('', 0, 'required')).toBe('bad');
  });
});

describe('webhook endpoints', () => {
  it('are reported with subscriptions that no event matches', () => {
    const endpoints = [
      { name: 'desk', events: ['alert.*'] },
      { name: 'siem', events: ['*', 'rotations.*', 'hosts.rebooted'] },
    ];
    expect(examineWebhooks(endpoints)).toMatchObject([
      {
        what: 'webhook siem',
        state: 'warn',
        detail: 'subscribes to unknown events: rotations.*, hosts.rebooted',
      },
    ]);
    expect(examineWebhooks(endpoints.slice(0, 1))).toMatchObject([{ what: 'webhooks', state: 'ok' }]);
  });
});

describe('approval policies', () => {
  it('are reported when an exception from an earlier version never holds', () => {
    expect(examinePolicies([])).toMatchObject([{ state: 'ok' }]);
    expect(examinePolicies([{ policy: 'Releases', fact: 'format' }])).toMatchObject([
      { what: 'approval policies', state: 'warn', detail: expect.stringContaining('"Releases" (format)') },
    ]);
  });
});
