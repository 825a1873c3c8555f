import { describe, expect, it } from 'vitest';
import { Problem } from '../../../platform/errors/problem.js';
import { DraftRefs } from '../../model/draft-refs.js';
import { readSarif } from './sarif-reader.js';

type Json = Record<string, unknown>;

function readLog(more: Json, source?: string) {
  const log = { version: '2.1.0', ...more };
  return readSarif(log, source, JSON.stringify(log).length);
}

const CIPHER = { id: 'R1', name: 'RiskyCipher', properties: { tags: ['external/cwe/cwe-327'] } };
const at = (uri: string, startLine = 3) => ({ physicalLocation: { artifactLocation: { uri }, region: { startLine } } });
const result = (more: Json = {}) => ({
  ruleId: 'R1',
  message: { text: 'RC4 is used' },
  locations: [at('a.c')],
  ...more,
});

function run(more: Json = {}, rules: Json[] = [CIPHER]): Json {
  return { tool: { driver: { name: 'scan', rules } }, results: [result()], ...more };
}

function read(...runs: Json[]) {
  return readLog({ runs });
}

/** Returns the algorithms in the only draft of a log, with their locations. */
function found(log: Json) {
  const [draft] = readLog(log);
  if (draft === undefined) throw new Error('no draft');
  const assets = [...draft.assets(new DraftRefs())];
  return {
    names: assets.map(({ component }) => component.name),
    places: assets.flatMap(({ occurrences }) => occurrences.map(({ location, line }) => [location, line])),
    draft,
  };
}
const of = (more: Json, rules?: Json[]) => found({ runs: [run(more, rules)] });

describe('kind, baseline state and suppressions of a result', () => {
  it.each<[string, Json, number]>([
    ['kind fail', { kind: 'fail' }, 1],
    ['kind pass', { kind: 'pass' }, 0],
    ['kind notApplicable', { kind: 'notApplicable' }, 0],
    ['kind open', { kind: 'open' }, 0],
    ['kind review', { kind: 'review' }, 0],
    ['kind informational', { kind: 'informational' }, 0],
    ['baseline new', { baselineState: 'new' }, 1],
    ['baseline unchanged', { baselineState: 'unchanged' }, 1],
    ['baseline updated', { baselineState: 'updated' }, 1],
    ['baseline absent', { baselineState: 'absent' }, 0],
    ['no suppression', { suppressions: [] }, 1],
    ['an accepted suppression', { suppressions: [{ kind: 'inSource', status: 'accepted' }] }, 0],
    ['a suppression without status', { suppressions: [{ kind: 'external' }] }, 0],
    ['a suppression under review', { suppressions: [{ kind: 'external', status: 'underReview' }] }, 1],
    ['a rejected suppression', { suppressions: [{ kind: 'external', status: 'rejected' }] }, 1],
    [
      'one accepted and one rejected',
      { suppressions: [{ kind: 'inSource' }, { kind: 'external', status: 'rejected' }] },
      1,
    ],
  ])('%s', (_, more, count) => {
    const { names, draft } = of({ results: [result(more)] });
    expect({ names: names.length, received: draft.received, ignored: draft.ignored }).toEqual({
      names: count,
      received: count,
      ignored: 1 - count,
    });
  });
});

describe('the location of a result', () => {
  const artifact = (artifactLocation: Json, more: Json = {}) =>
    of({
      results: [result({ locations: [{ physicalLocation: { artifactLocation, region: { startLine: 9 } } }] })],
      ...more,
    }).places;

  it('is resolved by artifact index, including nested artifacts', () => {
    const artifacts = [
      { location: { uri: 'libs/app.jar' } },
      { location: { uri: '/META-INF/k.c' }, parentIndex: 0 },
      { location: { uri: 'loop' }, parentIndex: 2 },
    ];
    expect(artifact({ index: 0 }, { artifacts })).toEqual([['libs/app.jar', 9]]);
    expect(artifact({ index: 1 }, { artifacts })).toEqual([['libs/app.jar!/META-INF/k.c', 9]]);
    expect(artifact({ index: 7 }, { artifacts })).toEqual([]);
    expect(artifact({ index: 2 }, { artifacts })[0]?.[0]).toMatch(/^loop/);
  });

  it('is resolved by nested uriBaseIds, relative to the checkout', () => {
    const originalUriBaseIds = {
      SRC: { uri: 'src/', uriBaseId: '%SRCROOT%' },
      '%SRCROOT%': { uri: 'file:///home/build-17/' },
      GEN: { uri: 'gen', uriBaseId: 'OUT' },
      OUT: { uri: 'file:///tmp/out/' },
      A: { uriBaseId: 'B' },
      B: { uriBaseId: 'A' },
    };
    const place = (uriBaseId: string) => artifact({ uri: 'a%20b.c', uriBaseId }, { originalUriBaseIds })[0]?.[0];
    expect(place('SRC')).toBe('src/a b.c');
    expect(place('%SRCROOT%')).toBe('a b.c');
    expect(place('GEN')).toBe('file:///tmp/out/gen/a%20b.c');
    expect(place('A')).toBe('a b.c');
    expect(place('nowhere')).toBe('a b.c');
    expect(place('constructor')).toBe('a b.c');
    const versionControlProvenance = [{ repositoryUri: 'https://git.example/r', mappedTo: { uriBaseId: 'OUT' } }];
    expect(artifact({ uri: 'x.c', uriBaseId: 'GEN' }, { originalUriBaseIds, versionControlProvenance })).toEqual([
      ['gen/x.c', 9],
    ]);
  });

  it('is resolved from an absolute URI, relative to the checkout stated by the run', () => {
    const uri = 'file:///build/481/shop/src/a%20b.c';
    const place = (more: Json, other = uri) => artifact({ uri: other }, more)[0]?.[0];
    const root = { uri: 'file:///build/481/shop/' };
    expect(place({ originalUriBaseIds: { '%SRCROOT%': root } })).toBe('src/a b.c');
    expect(place({ versionControlProvenance: [{ repositoryUri: 'https://git.example/r', mappedTo: root }] })).toBe(
      'src/a b.c',
    );
    const invocation = (workingDirectory: Json) => ({ invocations: [{ executionSuccessful: true, workingDirectory }] });
    expect(place(invocation({ uri: 'file:///build/481/shop' }))).toBe('src/a b.c');
    const hosted = 'https://git.example/shop/blob/';
    expect(place(invocation({ uri: hosted }), `${hosted}src/a.c`)).toBe('src/a.c');
    // Forms of file URIs in RFC 8089. Java uses the first form.
    for (const other of ['file:/build/481/shop/src/a.c', 'file://localhost/build/481/shop/src/a.c'])
      expect(place({ originalUriBaseIds: { '%SRCROOT%': root } }, other)).toBe('src/a.c');
    expect(place(invocation({ uri: 'file:/build/481/shop' }))).toBe('src/a b.c');
    // The folders that the run declares take precedence over the folder in which the tool was started.
    const both = { ...invocation({ uri: 'file:///build/481/shop/src' }), originalUriBaseIds: { SRCROOT: root } };
    expect(place(both)).toBe('src/a b.c');
    for (const more of [
      {},
      { originalUriBaseIds: { OUT: root } },
      invocation({ uri: 'file:///' }),
      invocation({ uri: 'file:///build/481/sho' }),
      invocation({ uri: 'shop/' }),
      invocation({ uri: uri }),
    ])
      expect([more, place(more)]).toEqual([more, uri]);
  });

  it.each([
    ['./src/a.c', 'src/a.c'],
    ['././src/./a.c', 'src/a.c'],
    ['.\\src\\a.c', 'src/a.c'],
    ['src/.hidden/a.c', 'src/.hidden/a.c'],
    ['link/../a.c', 'link/../a.c'],
    ['../a.c', '../a.c'],
    ['.', '.'],
    ['file:///b/./a.c', 'file:///b/./a.c'],
    ['file:/b/a.c', 'file:///b/a.c'],
    ['file://host/b/a.c', 'file://host/b/a.c'],
  ])('is normalized from %s to %s, so that a file has one location however the tool was started', (uri, expected) => {
    expect(artifact({ uri })).toEqual([[expected, 9]]);
  });

  it('is undefined for an empty URI', () => {
    expect(artifact({ uri: '', uriBaseId: 'ROOTPATH' }, { originalUriBaseIds: { ROOTPATH: { uri: '' } } })).toEqual([]);
  });

  it('has no line if the line number is invalid', () => {
    expect(of({ results: [result({ locations: [at('a.c', 0)] })] }).places).toEqual([['a.c', null]]);
  });

  it('is resolved from a logical location, a flow, an analysis target or a request', () => {
    const logicalLocations = [{ name: 'ns' }, { name: 'Class', parentIndex: 0 }, { fullyQualifiedName: 'a.b.c' }];
    const logical = (index: number) =>
      of({ logicalLocations, results: [result({ locations: [{ logicalLocations: [{ index }] }] })] }).places;
    expect([logical(1), logical(2)]).toEqual([[['ns.Class', null]], [['a.b.c', null]]]);
    const threadFlowLocations = [{ location: at('from.c', 1) }, { location: at('to.c', 7) }];
    const codeFlows = [{ threadFlows: [{ locations: [{ index: 0 }, { index: 1 }] }] }];
    expect(of({ threadFlowLocations, results: [result({ locations: [], codeFlows })] }).places).toEqual([['to.c', 7]]);
    expect(of({ results: [result({ locations: [], analysisTarget: { uri: 'main.c' } })] }).places).toEqual([
      ['main.c', null],
    ]);
    const webRequests = [{ target: 'https://shop.example/login' }];
    expect(of({ webRequests, results: [result({ locations: [], webRequest: { index: 0 } })] }).places).toEqual([
      ['https://shop.example/login', null],
    ]);
  });
});

describe('the runs of a SARIF log', () => {
  const category = (id: string) => ({ automationDetails: { id } });
  const scopes = (drafts: ReturnType<typeof read>) =>
    drafts.map(({ source, replaces }) => [source, replaces?.contexts]);

  it('replace only results of their own tool and category', () => {
    const other = { tool: { driver: { name: 'other', rules: [CIPHER] } } };
    expect(
      scopes(read(run(category('app/1')), run(category('app/2')), run({ ...category('lib/'), ...other }))),
    ).toEqual([
      ['app/', ['scan: ']],
      ['lib/', ['other: ']],
    ]);
    const repository = { versionControlProvenance: [{ repositoryUri: 'https://git.example/r' }] };
    expect(scopes(read(run(repository), run({ ...repository, ...other })))).toEqual([
      ['https://git.example/r', ['scan: ', 'other: ']],
    ]);
    const named = readLog({ runs: [run(category('a/')), run(category('b/'))] }, 'mine');
    expect(scopes(named)).toEqual([['mine', ['scan (a/): ', 'scan (b/): ']]]);
  });

  it('replace nothing if they failed, did not run, or store their results externally', () => {
    const runs = [
      run({ invocations: [{ executionSuccessful: false }] }),
      run({ results: undefined }),
      run({ results: null }),
      run({
        externalPropertyFileReferences: { results: [{ location: { uri: 'results.sarif-external-properties' } }] },
      }),
    ];
    for (const one of runs) {
      const [draft] = read(one);
      expect(draft?.replaces?.contexts).toEqual([]);
      expect(draft?.warnings.map(({ code }) => code)).toContain('sarif.incomplete');
    }
    expect(read(run({ results: [] }))[0]?.replaces?.contexts).toEqual(['scan: ']);
  });

  it('may contain inline external properties', () => {
    const guid = 'bbbbbbbb-0000-4000-8000-000000000001';
    const references = { results: [{ guid }], artifacts: [{ guid }], driver: { guid } };
    const results = [
      { ruleId: 'R1', message: { text: 'MD2' }, locations: [{ physicalLocation: { artifactLocation: { index: 0 } } }] },
    ];
    const inline = {
      guid: guid.toUpperCase(),
      results,
      artifacts: [{ location: { uri: 'z.c' } }],
      driver: { name: 'scan', rules: [CIPHER] },
    };
    const { names, places, draft } = found({
      runs: [{ tool: { driver: { name: 'scan' } }, externalPropertyFileReferences: references }],
      inlineExternalProperties: [inline],
    });
    expect({ names, places, warnings: draft.warnings }).toEqual({
      names: ['MD2'],
      places: [['z.c', null]],
      warnings: [],
    });
  });

  it('are rejected in another version, with the version', () => {
    for (const version of ['2.0.0', '1.0.0']) {
      const old = () => readLog({ version, runs: [] });
      expect(old).toThrow(Problem);
      expect(old).toThrow(new RegExp(`must be 2.1.0, not ${version.replaceAll('.', '\\.')}: convert it`));
    }
  });

  it.each<[string, unknown]>([
    ['a result', { results: ['x'] }],
    ['results', { results: 'x' }],
    ['a tool', { tool: { driver: {} } }],
  ])('are rejected with the pointer of an invalid %s', (_, more) => {
    expect(() => read(run(more as Json))).toThrow(/\/runs\/0\//);
  });

  it('are read safely with any value in place of an object', () => {
    const junk: unknown[] = [null, 7, 'x', [], [[]], [null], { a: 1 }];
    const members = [
      'locations',
      'taxa',
      'suppressions',
      'codeFlows',
      'rule',
      'ruleIndex',
      'ruleId',
      'message',
      'properties',
      'analysisTarget',
      'webRequest',
    ];
    for (const value of junk) {
      for (const member of members)
        expect(() => read(run({ results: [{ ...result(), [member]: value }] }))).not.toThrow();
      for (const member of [
        'artifacts',
        'taxonomies',
        'logicalLocations',
        'originalUriBaseIds',
        'automationDetails',
        'versionControlProvenance',
        'invocations',
        'externalPropertyFileReferences',
        'threadFlowLocations',
        'webRequests',
      ])
        expect(() => read(run({ [member]: value }))).not.toThrow();
    }
  });
});

it('a log with more than 100 categories is refused', () => {
  const runs = (count: number) =>
    Array.from({ length: count }, (_, index) => run({ automationDetails: { id: `category-${index}/` } }));
  expect(read(...runs(100))).toHaveLength(100);
  expect(() => read(...runs(101))).toThrow(expect.objectContaining({ code: 'document.too-costly' }));
  expect(readLog({ runs: runs(101) }, 'one source')).toHaveLength(1);
});

it('a base that refers to itself and repeats a long text is cut', () => {
  const bases = { A: { uri: `${'x'.repeat(20_000_000)}/`, uriBaseId: 'A' } };
  const location = { physicalLocation: { artifactLocation: { uri: 'a.c', uriBaseId: 'A' } } };
  const { places } = of({ originalUriBaseIds: bases, results: [result({ locations: [location] })] });
  expect(places).toEqual([[expect.stringMatching(/^x{4000}$/), null]]);
});

describe('a log of 250 kB whose references repeat its content is refused', () => {
  const guid = 'bbbbbbbb-0000-4000-8000-000000000001';
  const many = (count: number, one: Json) => Array.from({ length: count }, () => one);
  const shared = { guid, results: many(1000, result()), extensions: many(1000, {}), driver: { name: 'scan' } };
  const referring = (references: Json) => run({ results: [], externalPropertyFileReferences: references });
  const indexed = (index: number) => result({ locations: [{ physicalLocation: { artifactLocation: { index } } }] });
  const chain = Array.from({ length: 30 }, (_, index) => ({
    location: { uri: `${index}${'a'.repeat(3900)}` },
    ...(index === 0 ? {} : { parentIndex: index - 1 }),
  }));
  const logical = Array.from({ length: 30 }, (_, index) => ({
    name: `${index}${'a'.repeat(3900)}`,
    ...(index === 0 ? {} : { parentIndex: index - 1 }),
  }));
  const longRule = { ...CIPHER, id: 'md5'.padEnd(100_000, 'x') };

  it.each<[string, Json]>([
    ['results of a run', { runs: [referring({ results: many(1000, { guid }) })], inlineExternalProperties: [shared] }],
    [
      'results of several runs',
      { runs: many(400, referring({ results: [{ guid }] })), inlineExternalProperties: [shared] },
    ],
    ['extensions', { runs: [referring({ extensions: many(1000, { guid }) })], inlineExternalProperties: [shared] }],
    ['a chain of artifacts', { runs: [run({ artifacts: chain, results: many(1000, indexed(29)) })] }],
    [
      'a chain of logical locations',
      {
        runs: [
          run({
            logicalLocations: logical,
            results: many(1000, result({ locations: [{ logicalLocations: [{ index: 29 }] }] })),
          }),
        ],
      },
    ],
    [
      'a long rule ID at many locations',
      {
        runs: [
          run({ results: [result({ ruleId: undefined, ruleIndex: 0, locations: many(1500, at('a.c')) })] }, [longRule]),
        ],
      },
    ],
    [
      'a long name of a tool in many categories',
      {
        runs: Array.from({ length: 90 }, (_, index) => ({
          tool: {},
          automationDetails: { id: `${index}/` },
          externalPropertyFileReferences: { driver: { guid } },
          results: [],
        })),
        inlineExternalProperties: [{ guid, driver: { name: 'x'.repeat(100_000) } }],
      },
    ],
  ])('%s', (_, log) => {
    expect(JSON.stringify(log).length).toBeLessThan(260_000);
    expect(() => readLog(log)).toThrow(expect.objectContaining({ code: 'document.too-costly' }));
  });
});
