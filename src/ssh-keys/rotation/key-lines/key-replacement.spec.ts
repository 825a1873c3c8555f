import { describe, expect, it } from 'vitest';
import { newEd25519Pair } from '../../../formats/ssh/key-pair.js';
import { publicKeyLine } from '../../../formats/ssh/public-key.js';
import {
  optionsOf,
  type KeyReplacement,
  rolledBack,
  standingsOf,
  withNextLimited,
  withNextPermanent,
  withNextRenewed,
  withNextRestored,
  withOldLimited,
  oldLimitIn,
  withOldRestored,
  withoutOld,
} from './key-replacement.js';

const key = (name: string) => {
  const { publicKey } = newEd25519Pair(name);
  return { blob: publicKey.blob, line: `${publicKeyLine(publicKey)} ${name}` };
};
const old = key('ann@laptop');
const next = key('next');
const other = key('bob');
const UNTIL = '20270101000000Z';
const LATER = '20280101000000Z';
const TAG = 'sealwright:01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';

function replacing(file: string): KeyReplacement {
  const originals = optionsOf(Buffer.from(file, 'latin1'), old.blob);
  const [type, base64, comment] = next.line.split(' ');
  return {
    path: '/h/.ssh/authorized_keys',
    old: old.blob,
    next: next.blob,
    nextKey: `${type} ${base64}`,
    nextComment: comment,
    tag: TAG,
    originals,
  };
}

/** Applies all steps of a rotation to a file. Returns the file after each step. */
function rotated(file: string) {
  const plan = replacing(file);
  const added = withNextLimited(Buffer.from(file, 'latin1'), plan, UNTIL).bytes;
  const permanent = withNextPermanent(added, plan).bytes;
  const bounded = withOldLimited(permanent, plan, LATER).bytes;
  const removed = withoutOld(bounded, plan).bytes;
  const text = (bytes: Buffer) => bytes.toString('latin1');
  return {
    plan,
    bytes: { added, permanent, bounded, removed },
    added: text(added),
    permanent: text(permanent),
    bounded: text(bounded),
    removed: text(removed),
  };
}

const OPTIONS = [
  '',
  'restrict',
  'no-pty,no-agent-forwarding',
  'from="10.0.0.0/8,!10.1.2.3"',
  'command="echo \\"a, b\\" # no comment",no-pty',
  'environment="A=1,2 3",restrict,pty',
  'expiry-time="20990101"',
  'permitopen="host:22",tunnel="0"',
];
const AROUND: [string, (line: string) => string][] = [
  ['alone', (line) => `${line}\n`],
  ['alone, nothing ends the file', (line) => line],
  ['among others', (line) => `# people\n${other.line}\n\n${line}\n  # more\nnot a key at all\n`],
  ['last, nothing ends the file', (line) => `${other.line}\n${line}`],
  ['CRLF', (line) => `# windows\r\n${line}\r\n${other.line}\r\n`],
  ['CRLF, nothing ends the file', (line) => `${other.line}\r\n${line}`],
  ['indented', (line) => `\t ${line}\n`],
  ['twice', (line) => `${line}\n${other.line}\n${line}\n`],
  ['bytes that are no UTF-8', (line) => `# \xe9\xff\x00\n${line}\n`],
  ['behind a broken line', (line) => `command="never closed ${other.line}\n${line}\n`],
  ['with blank lines at the end', (line) => `${line}\n\n\n`],
  ['CRLF and LF mixed', (line) => `# a\r\n${line}\n# b\r\n${other.line}`],
];
const CORPUS = OPTIONS.flatMap((options) =>
  AROUND.map(([name, around]) => {
    const line = options === '' ? old.line : `${options} ${old.line}`;
    return [`${name}: ${options === '' ? 'no options' : options}`, around(line)] as const;
  }),
);

describe('a rotation in a key file', () => {
  it.each(CORPUS)('%s', (_name, file) => {
    const { plan, bytes, ...steps } = rotated(file);
    const expected = file.replaceAll(old.line, next.line);
    expect(steps.removed).toBe(expected);
    // Without the planned lines, each step equals the original file.
    const others = (text: string) => text.split('\n').filter((line) => !line.includes(next.line.slice(12, 80)));
    expect(others(steps.added).map(bare)).toEqual(others(file).map(bare));
    expect(others(steps.permanent).map(bare)).toEqual(others(file).map(bare));
    expect(Object.values(bytes).map((step) => standingsOf(step, plan))).toEqual([
      { old: 'permanent', next: 'limited' },
      { old: 'permanent', next: 'permanent' },
      { old: 'limited', next: 'permanent' },
      { old: 'absent', next: 'permanent' },
    ]);
    for (const step of [bytes.added, bytes.permanent, bytes.bounded]) {
      expect(rolledBack(step, plan).bytes.toString('latin1')).toBe(file);
    }
  });

  it.each(CORPUS)('is idempotent: %s', (_name, file) => {
    const { plan, bytes } = rotated(file);
    expect(withNextLimited(bytes.added, plan, UNTIL).diff).toBe('');
    expect(withNextRenewed(bytes.added, plan, UNTIL).diff).toBe('');
    expect(withNextPermanent(bytes.permanent, plan).diff).toBe('');
    expect(withOldLimited(bytes.bounded, plan, LATER).diff).toBe('');
    expect(withoutOld(bytes.removed, plan).diff).toBe('');
  });
});

/** Removes a trailing carriage return, because the last line of the file may have gained or lost one. */
const bare = (line: string) => line.replace(/\r$/, '');

it('the options of the line are kept, with the expiry prepended', () => {
  const { added, bounded } = rotated(`from="10.0.0.1",no-pty   ${old.line}\n`);
  expect(added.split('\n')[1]).toBe(`expiry-time="${UNTIL}",from="10.0.0.1",no-pty ${next.line}`);
  expect(bounded.split('\n')[0]).toBe(`expiry-time="${LATER}",from="10.0.0.1",no-pty   ${old.line}`);
});

it('changes are shown in diff -u format', () => {
  const file = Array.from({ length: 9 }, (_, i) => (i === 4 ? `no-pty ${old.line}` : `# ${i + 1}`)).join('\n');
  const { diff } = withNextLimited(Buffer.from(`${file}\n`), replacing(file), UNTIL);
  expect(diff).toBe(
    [
      '--- /h/.ssh/authorized_keys',
      '+++ /h/.ssh/authorized_keys',
      '@@ -3,6 +3,7 @@',
      ' # 3',
      ' # 4',
      ` no-pty ${old.line}`,
      `+expiry-time="${UNTIL}",no-pty ${next.line}`,
      ' # 6',
      ' # 7',
      ' # 8',
      '',
    ].join('\n'),
  );
});

it('the old key is restored when the new one fails', () => {
  const file = `# team\nno-pty ${old.line}\n${other.line}\n`;
  const { plan, bytes } = rotated(file);
  const restored = withOldRestored(bytes.removed, plan, old.line).bytes;
  expect(restored.toString()).toBe(`# team\nno-pty ${old.line}\nno-pty ${next.line}\n${other.line}\n`);
  expect(rolledBack(restored, plan).bytes.toString()).toBe(file);
});

it('the old key is restored without its later expiry, and not if both keys were removed', () => {
  const file = `no-pty ${old.line}\n`;
  const { plan, bytes } = rotated(file);
  expect(withOldRestored(bytes.bounded, plan, old.line).bytes).toEqual(bytes.permanent);
  const others = Buffer.from(`${other.line}\n`);
  expect(withOldRestored(others, plan, old.line)).toEqual({ bytes: others, diff: '' });
});

it('lines that contain the key in a comment or in quotes are unchanged', () => {
  const file = `# ${old.line}\nenvironment="K=${old.line}" ${other.line}\n${old.line}\n`;
  expect(rotated(file).removed).toBe(`# ${old.line}\nenvironment="K=${old.line}" ${other.line}\n${next.line}\n`);
});

it('every line that grants access to the old key is removed, however it is written', () => {
  const [type = '', base64 = ''] = old.line.split(' ');
  const [first, rest] = [base64.slice(0, 30), base64.slice(30)];
  const hidden = [
    `${type} ${base64}\0${other.line}`,
    `no-pty ${type} ${first}\v${rest} x`,
    `${type} ${first}\r${rest}`,
  ];
  const file = [other.line, ...hidden].join('\n') + '\n';
  expect(
    rotated(file)
      .removed.split('\n')
      .filter((line) => line.includes(first)),
  ).toEqual([]);
  expect(rotated(file).removed.split('\n')[0]).toBe(other.line);
});

describe('the comment of a replaced line', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');
  const lineAfter = (comment: string) => {
    const file = bytes(`no-pty ${old.line.replace(' ann@laptop', comment)}\n`);
    const plan = { ...replacing(file.toString('latin1')), nextComment: undefined };
    const added = withNextPermanent(withNextLimited(file, plan, UNTIL).bytes, plan).bytes;
    return withoutOld(added, plan).bytes.toString('latin1');
  };
  const [type, base64] = next.line.split(' ');

  it.each([
    [' ops@laptop', ` ops@laptop ${TAG}`],
    [' Ann B. \xe9 (laptop)', ` Ann B. \xe9 (laptop) ${TAG}`],
    ['', ` ${TAG}`],
    [` ops@laptop sealwright:${'0'.repeat(36)}`, ` ops@laptop ${TAG}`],
    [` sealwright:${'0'.repeat(36)}`, ` ${TAG}`],
  ])('keeps %j, followed by the rotation tag', (comment, expected) => {
    expect(lineAfter(comment)).toBe(`no-pty ${type} ${base64}${expected}\n`);
  });
});

describe('an expiry set by an earlier attempt', () => {
  it.each([
    [UNTIL, LATER, UNTIL],
    [LATER, UNTIL, UNTIL],
    [undefined, LATER, LATER],
  ])('of %s is kept if it is earlier than %s', (present, wanted, expected) => {
    const plan = replacing(`${old.line}\n`);
    const file = withOldLimited(Buffer.from(`${old.line}\n`), plan, present).bytes;
    const limited = withOldLimited(file, plan, wanted).bytes;
    expect([limited.toString(), oldLimitIn(limited, plan)]).toEqual([
      `expiry-time="${expected}" ${old.line}\n`,
      expected,
    ]);
  });
});

describe('a removed line of the new key is restored', () => {
  const options = 'no-pty,from="10.0.0.0/8"';
  const file = `# people\n${options} ${old.line}\n${other.line}`;
  const plan = replacing(file);
  const restored = (text: string) => withNextRestored(Buffer.from(text), plan, old.line).bytes.toString();

  it.each([
    ['behind the old one', file, `# people\n${options} ${old.line}\n${options} ${next.line}\n${other.line}`],
    ['at the end, where the old one is gone too', `${other.line}\n`, `${other.line}\n${options} ${next.line}\n`],
    ['in a file that is empty', '', `${options} ${next.line}\n`],
    [
      'without its limit, where it is there',
      `expiry-time="${UNTIL}",${options} ${next.line}\n`,
      `${options} ${next.line}\n`,
    ],
  ])('%s', (_case, text, expected) => {
    expect(restored(text)).toBe(expected);
  });
});

/** Cases from bug reports about Ansible's authorized_key module: ansible.posix#457, ansible.posix#536, ansible#56894. */
describe('a key on several lines of a file', () => {
  const file = [
    '# Added by hand',
    `from="192.0.2.4" ${old.line} first`,
    `from="192.0.2.5",command="/usr/bin/backup" ${old.line} second`,
    other.line,
    '',
  ].join('\n');

  it('is replaced on each line with its options, and other lines are kept', () => {
    const expected = file.replaceAll(`${old.line} first`, next.line).replaceAll(`${old.line} second`, next.line);
    expect(rotated(file).removed).toBe(expected);
  });

  it('is not changed again by the same step', () => {
    const { plan, bytes } = rotated(file);
    expect(withNextLimited(bytes.permanent, plan, UNTIL).diff).toBe('');
    expect(withoutOld(bytes.removed, plan).diff).toBe('');
  });
});
