import { describe, expect, it } from 'vitest';
import { Problem } from '../../../platform/errors/problem.js';
import { DraftRefs } from '../../model/draft-refs.js';
import { readBody } from './body-reader.js';
import { instant } from '../../model/date-time.js';
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

/** Returns the faults that reject the document in strict mode. */
function faultsOf(times: Parameters<typeof read>[0]): unknown[] {
  try {
    read(times, 'strict');
  } catch (error) {
    if (error instanceof Problem) return [...(error.errors ?? [])];
    throw error;
  }
  return [];
}

describe('times in a document', () => {
  it.each([
    ['without a zone', '2027-03-01T12:00:00', '2027-03-01T12:00:00Z'],
    ['without a time of day', '2027-03-01', '2027-03-01T00:00:00Z'],
    ['with a zone without colon', '2027-03-01T12:00:00+0000', '2027-03-01T12:00:00+00:00'],
    ['with a zone of hours alone', '2027-03-01T12:00:00-05', '2027-03-01T12:00:00-05:00'],
    ['as OpenSSL prints it', 'Mar  1 12:00:00 2027 GMT', '2027-03-01T12:00:00Z'],
    ['with a zone in words', '2027-03-01 12:00:00 UTC', '2027-03-01T12:00:00Z'],
    ['as Java prints it', 'Mon Mar 01 12:00:00 UTC 2027', '2027-03-01T12:00:00Z'],
    ['as Go prints it', '2027-03-01 12:00:00 +0000 UTC', '2027-03-01T12:00:00+00:00'],
    ['as UTCTime of DER', '270301120000Z', '2027-03-01T12:00:00Z'],
    ['as GeneralizedTime of DER', '20270301120000Z', '2027-03-01T12:00:00Z'],
    ['with fractions and no zone', '2027-03-01T12:00:00.123456', '2027-03-01T12:00:00.123456Z'],
    ['with a comma before the fraction', '2027-03-01T12:00:00,5Z', '2027-03-01T12:00:00.5Z'],
    ['without seconds', '2027-03-01T12:00Z', '2027-03-01T12:00:00Z'],
    ['with a second 60 that is no leap second', '2027-03-01T12:00:60Z', '2027-03-01T12:00:59Z'],
  ])('%s are repaired with a note, and rejected with a pointer in strict mode', (_, given, repaired) => {
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
  ])('remain unchanged if RFC 3339 allows them: %s', (time) => {
    for (const mode of ['strict', 'repair'] as const)
      expect(read({ timestamp: time, until: time }, mode)).toEqual({ time, until: time, repairs: [] });
    expect(instant(time)).not.toBeNull();
  });

  it.each([
    '2027-02-30',
    'tomorrow',
    '2027-13-01T00:00:00',
    '01/02/2027',
    '2027-03-01T25:00:00',
    'Mon Mar 01 12:00:00 CET 2027',
  ])('are rejected if they are not times: %s', (time) => {
    expect(() => read({ until: time }, 'repair')).toThrow(Problem);
  });
});

/** Reads a document with the given members and the given first component. */
function readWith(members: object, component: object = {}, mode: Mode = 'repair') {
  const key = { type: 'cryptographic-asset', name: 'AES-256', cryptoProperties: { assetType: 'algorithm' } };
  const body = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components: [{ ...key, ...component }] };
  const bytes = Buffer.from(JSON.stringify({ ...body, ...members }));
  const [document] = readBody(bytes, { kind: 'json', mode, source: undefined, password: undefined });
  const draft = document?.draft();
  const assets = [...(draft?.assets(new DraftRefs()) ?? [])];
  return { assets, repairs: draft?.repairs.map(({ pointer, code }) => `${code} ${pointer}`) };
}

describe('empty members', () => {
  it.each([
    ['null in the document', { serialNumber: null, metadata: null }, {}, ['/serialNumber', '/metadata']],
    [
      'null in a component',
      {},
      { version: null, description: null },
      ['/components/0/version', '/components/0/description'],
    ],
    ['an empty serial number', { serialNumber: '' }, {}, ['/serialNumber']],
    ['an empty time', { metadata: { timestamp: '' } }, {}, ['/metadata/timestamp']],
  ])('are treated as absent: %s', (_, members, component, pointers) => {
    const { assets, repairs } = readWith(members, component);
    expect(assets).toHaveLength(1);
    expect(repairs?.toSorted()).toEqual(pointers.map((pointer) => `empty.removed ${pointer}`).toSorted());
    expect(() => readWith(members, component, 'strict')).toThrow(Problem);
  });

  it('are also treated as absent in place of a list, because some generators write null when they find nothing', () => {
    const { assets, repairs } = readWith({ components: null });
    expect(assets).toEqual([]);
    expect(repairs).toEqual(['empty.removed /components']);
  });

  it.each([
    ['a name that is required', {}, { name: null }],
    ['an item of a list', { components: [null] }, {}],
  ])('cause rejection in place of %s', (_, members, component) => {
    expect(() => readWith(members, component)).toThrow(/not valid CycloneDX/);
  });
});

it('a reference with spaces and braces, as copied by package managers, is percent-encoded', () => {
  const externalReferences = [{ type: 'website', url: 'https://a.example/{path} to/x' }];
  const { assets, repairs } = readWith({}, { externalReferences });
  expect(repairs).toEqual(['reference.repaired /components/0/externalReferences/0/url']);
  expect(JSON.stringify(assets)).toContain('https://a.example/%7Bpath%7D%20to/x');
  expect(() => readWith({}, { externalReferences }, 'strict')).toThrow(Problem);
});

describe('a serial number that is a bare UUID', () => {
  it.each(['3E671687-395b-41f5-a30f-a58921a69b79', '{3e671687-395b-41f5-a30f-a58921a69b79}'])(
    'is converted to a URN: %s',
    (serialNumber) => {
      expect(readWith({ serialNumber }).repairs).toEqual(['serial.repaired /serialNumber']);
      expect(() => readWith({ serialNumber }, {}, 'strict')).toThrow(Problem);
    },
  );

  it.each(['bom-17', 'urn:uuid:3e671687', '3e671687-395b-41f5-a30f-a58921a69b7'])(
    'is not accepted: %s',
    (serialNumber) => {
      expect(() => readWith({ serialNumber })).toThrow(/not valid CycloneDX/);
    },
  );
});

describe('licenses, which are irrelevant to cryptography, do not cause rejection', () => {
  const licensed = (...licenses: unknown[]) => {
    const { assets, repairs } = readWith({}, { licenses });
    const [asset] = assets as unknown as { component: { licenses: unknown } }[];
    return { licenses: asset?.component.licenses, repairs };
  };

  it.each<[string, unknown[], unknown[]]>([
    [
      'an id that SPDX does not list',
      [{ license: { id: 'Proprietary' } }, { license: { id: 'MIT' } }],
      [{ license: { name: 'Proprietary' } }, { license: { id: 'MIT' } }],
    ],
    [
      'an expression as an id, beside a text',
      [{ license: { id: 'GPL-2.0 WITH Classpath-exception-2.0', url: 'https://a.example/' } }],
      [{ license: { name: 'GPL-2.0 WITH Classpath-exception-2.0', url: 'https://a.example/' } }],
    ],
    [
      'an expression among licenses',
      [{ license: { id: 'MIT' } }, { expression: 'MIT OR ISC', acknowledgement: 'declared' }],
      [{ license: { id: 'MIT' } }, { license: { name: 'MIT OR ISC', acknowledgement: 'declared' } }],
    ],
  ])('but %s is read as a name', (_, given, expected) => {
    const { licenses, repairs } = licensed(...given);
    expect(licenses).toEqual(expected);
    expect(repairs).toEqual([expect.stringMatching(/^license\.named \/components\/0\/licenses\/[01]$/)]);
    expect(() => readWith({}, { licenses: given }, 'strict')).toThrow(Problem);
  });

  it('in the document head either', () => {
    const metadata = { licenses: [{ license: { id: 'UNKNOWN' } }] };
    expect(readWith({ metadata }).repairs).toEqual(['license.named /metadata/licenses/0']);
  });

  it('unless they are otherwise invalid', () => {
    for (const license of [{}, { id: 'MIT', text: 'x' }, { id: 7.5 }, { id: ['MIT'] }, 'MIT'])
      expect(() => licensed({ license })).toThrow(/not valid CycloneDX/);
  });
});

const algorithm = (algorithmProperties: object) => ({
  cryptoProperties: { assetType: 'algorithm', algorithmProperties },
});

describe('a value of another type or letter case', () => {
  it.each<[object, object, string]>([
    [{ parameterSetIdentifier: 2048 }, { parameterSetIdentifier: '2048' }, 'type.repaired'],
    [{ nistQuantumSecurityLevel: '3' }, { nistQuantumSecurityLevel: 3 }, 'type.repaired'],
    [{ mode: 'GCM' }, { mode: 'gcm' }, 'word.repaired'],
    [{ padding: 'PKCS1_v15' }, { padding: 'pkcs1v15' }, 'word.repaired'],
    [{ primitive: 'Block_Cipher' }, { primitive: 'block-cipher' }, 'word.repaired'],
    [{ cryptoFunctions: 'encrypt' }, { cryptoFunctions: ['encrypt'] }, 'type.repaired'],
    [{ mode: 'galois' }, { mode: 'other' }, 'word.other'],
    [{ padding: 'zero-padding' }, { padding: 'other' }, 'word.other'],
    [{ mode: 'AES/ECB' }, { mode: 'ecb' }, 'word.repaired'],
    [{ certificationLevel: 'none' }, { certificationLevel: ['none'] }, 'type.repaired'],
  ])('is converted from %j to %j', (given, expected, code) => {
    const { assets, repairs } = readWith({}, algorithm(given));
    const [asset] = assets as unknown as {
      component: { cryptoProperties: { algorithmProperties: object } };
    }[];
    expect(asset?.component.cryptoProperties.algorithmProperties).toEqual(expected);
    const [member] = Object.keys(given);
    expect(repairs).toEqual([`${code} /components/0/cryptoProperties/algorithmProperties/${member}`]);
    expect(() => readWith({}, algorithm(given), 'strict')).toThrow(Problem);
  });

  it.each<[string, object]>([
    ['a number that is none', { nistQuantumSecurityLevel: 'three' }],
    ['a number with a unit', { nistQuantumSecurityLevel: '3 bit' }],
    ['a fraction where there are none', { nistQuantumSecurityLevel: '3.5' }],
    ['a number out of bounds', { nistQuantumSecurityLevel: '7' }],
    ['a list in place of a text', { parameterSetIdentifier: [2048] }],
    ['a fraction in place of a text', { parameterSetIdentifier: 1.2 }],
  ])('is not guessed: %s', (_, given) => {
    expect(() => readWith({}, algorithm(given))).toThrow(/not valid CycloneDX/);
  });

  it('is not guessed from a number that a double cannot represent', () => {
    expect(() => readWith({}, algorithm({ parameterSetIdentifier: 2 ** 60 }))).toThrow(
      'a number exceeds ±9007199254740991 (2^53−1): send the number as a string',
    );
  });
});

describe('a version written as a number', () => {
  it('is read as text, for the specification and for a protocol', () => {
    const protocol = { cryptoProperties: { assetType: 'protocol', protocolProperties: { type: 'tls', version: 1.2 } } };
    const { repairs } = readWith({ specVersion: 1.6 }, protocol);
    expect(repairs).toEqual([
      'type.repaired /specVersion',
      'type.repaired /components/0/cryptoProperties/protocolProperties/version',
    ]);
    expect(() => readWith({ specVersion: 1.6 }, {}, 'strict')).toThrow(Problem);
    expect(() => readWith({ specVersion: 1.65 })).toThrow(/This CycloneDX version/);
  });
});

describe('an invalid part of a component', () => {
  const found = (evidence: object, more: object = {}) =>
    readWith({}, { ...algorithm({ mode: 'gcm' }), evidence, ...more });

  it('is dropped with a note if it is not used, and the component is kept', () => {
    const { assets, repairs } = found({
      identity: [{ confidence: 1, methods: [] }],
      occurrences: [{ location: 'a.c' }],
    });
    expect(repairs).toEqual(['part.left-out /components/0/evidence/identity']);
    expect(assets).toMatchObject([{ occurrences: [{ location: 'a.c' }] }]);
  });

  it('is dropped if it is an occurrence without a location', () => {
    const { assets, repairs } = found({ occurrences: [{ line: 3 }, { location: 'b.c' }, { line: 4 }] });
    expect(repairs?.toSorted()).toEqual([
      'part.left-out /components/0/evidence/occurrences/0',
      'part.left-out /components/0/evidence/occurrences/2',
    ]);
    expect(assets).toMatchObject([{ occurrences: [{ location: 'b.c' }] }]);
  });

  it('is repaired together with invalid terms, and rejected in strict mode', () => {
    const both = { ...algorithm({ mode: 'xts' }), evidence: { identity: [{ confidence: 1 }] } };
    expect(readWith({}, both).repairs?.toSorted()).toEqual([
      'part.left-out /components/0/evidence/identity',
      'word.other /components/0/cryptoProperties/algorithmProperties/mode',
    ]);
    expect(() => readWith({}, both, 'strict')).toThrow(Problem);
  });
});

describe('an unused part of a document', () => {
  it.each<[string, object]>([
    ['/vulnerabilities', { vulnerabilities: [{ ratings: [{ method: 'CVSSv9' }] }] }],
    ['/compositions', { compositions: [{ aggregate: 'most' }] }],
    ['/signature', { signature: { value: 'eyJhbGciOiJSUzUxMiJ9.e30.AA' } }],
    ['/metadata/tools', { metadata: { tools: [{ type: 'application', name: 'a' }] } }],
  ])('that is invalid does not cause rejection: %s', (pointer, more) => {
    expect(readWith(more).repairs).toEqual([`part.left-out ${pointer}`]);
    expect(() => readWith(more, {}, 'strict')).toThrow(/not valid CycloneDX/);
  });

  it('is dropped along with other repairs, and valid parts are kept', () => {
    const more = { version: '1', signature: {}, vulnerabilities: [{ id: 'CVE-2026-1' }], compositions: [{}] };
    expect(readWith(more).repairs?.toSorted()).toEqual([
      'part.left-out /compositions',
      'part.left-out /signature',
      'type.repaired /version',
    ]);
  });

  it('does not hide other faults of the document', () => {
    expect(() => readWith({ compositions: [{}], cryptoAssets: [] })).toThrow('/cryptoAssets: is not allowed here');
  });
});
