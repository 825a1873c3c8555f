import { describe, expect, it } from 'vitest';
import { Problem } from '../../platform/errors/problem.js';
import { DraftRefs } from '../model/draft-refs.js';
import { readBody } from './body-reader.js';
import { instant } from '../model/date-time.js';
import type { Mode } from '../cyclonedx/bom-lists.js';

const GOOD = '2026-12-31T23:59:59Z';

function read(times: { timestamp?: string; until?: string }, mode: Mode) {
  const { timestamp = GOOD, until = GOOD } = times;
  const certificateProperties = { subjectName: 'CN=a', notValidAfter: until };
  const certificate = {
    type: 'cryptographic-asset',
    name: 'a',
    cryptoProperties: { assetType: 'certificate', certificateProperties },
  };
  const body = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { timestamp },
    components: [certificate],
  };
  const [document] = readBody(Buffer.from(JSON.stringify(body)), {
    kind: 'json',
    mode,
    source: undefined,
    password: undefined,
  });
  const draft = document?.draft();
  const [asset] = draft?.assets(new DraftRefs()) ?? [];
  const repairs = draft?.repairs.map(({ pointer, code }) => `${code} ${pointer}`);
  return {
    time: draft?.time,
    until: asset?.component.cryptoProperties?.certificateProperties?.['notValidAfter'],
    repairs,
  };
}

/** The faults of strict mode. */
function faultsOf(times: Parameters<typeof read>[0]): unknown[] {
  try {
    read(times, 'strict');
  } catch (error) {
    if (error instanceof Problem) return [...(error.errors ?? [])];
    throw error;
  }
  return [];
}

describe('times of a document', () => {
  it.each([
    ['without a zone', '2027-03-01T12:00:00', '2027-03-01T12:00:00Z'],
    ['without a time of day', '2027-03-01', '2027-03-01T00:00:00Z'],
    ['with a zone without colon', '2027-03-01T12:00:00+0000', '2027-03-01T12:00:00+00:00'],
    ['with a zone of hours alone', '2027-03-01T12:00:00-05', '2027-03-01T12:00:00-05:00'],
    ['with a zone in words', '2027-03-01 12:00:00 UTC', '2027-03-01T12:00:00Z'],
    ['with fractions and no zone', '2027-03-01T12:00:00.123456', '2027-03-01T12:00:00.123456Z'],
    ['with a comma before the fraction', '2027-03-01T12:00:00,5Z', '2027-03-01T12:00:00.5Z'],
    ['without seconds', '2027-03-01T12:00Z', '2027-03-01T12:00:00Z'],
    ['with a second 60 that is no leap second', '2027-03-01T12:00:60Z', '2027-03-01T12:00:59Z'],
  ])('%s are repaired with a note, and refused with a pointer in strict mode', (_, given, repaired) => {
    expect(read({ timestamp: given, until: given }, 'repair')).toEqual({
      time: repaired,
      until: repaired,
      repairs: [
        'time.repaired /metadata/timestamp',
        'time.repaired /components/0/cryptoProperties/certificateProperties/notValidAfter',
      ],
    });
    for (const [times, pointer] of [
      [{ timestamp: given }, '/metadata/timestamp'],
      [{ until: given }, '/components/0/cryptoProperties/certificateProperties/notValidAfter'],
    ] as const)
      expect(faultsOf(times)).toContainEqual({ pointer, detail: 'must be a date-time' });
  });

  it.each([
    GOOD,
    '2027-03-01T12:00:00.123456789012Z',
    '2027-03-01t12:00:00z',
    '2016-12-31T23:59:60Z',
    '2017-01-01T05:29:60+05:30',
  ])('that RFC 3339 allows are not changed: %s', (time) => {
    for (const mode of ['strict', 'repair'] as const)
      expect(read({ timestamp: time, until: time }, mode)).toEqual({ time, until: time, repairs: [] });
    expect(instant(time)).not.toBeNull();
  });

  it.each(['2027-02-30', 'tomorrow', '2027-13-01T00:00:00', '01/02/2027', '2027-03-01T25:00:00'])(
    'that are no times are refused: %s',
    (time) => {
      expect(() => read({ until: time }, 'repair')).toThrow(Problem);
    },
  );
});
