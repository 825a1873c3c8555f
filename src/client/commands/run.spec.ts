import { afterEach, describe, expect, it, vi } from 'vitest';
import { formsOf } from '../api/command-forms.js';
import { COMMANDS, COMMON, run } from './run.js';

/**
 * Arguments that call each form of each command. No service is running, so an invalid option must be rejected before any file is read or the service is called.
 */
const CALLS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  login: { browser: ['--client', 'x'], key: ['--api-key'] },
  sign: {
    detached: ['a.bin'],
    'many detached': ['a.bin', 'b.bin'],
    embedded: ['a.exe'],
    'many embedded': ['a.exe', 'b.jar'],
    mixed: ['a.exe', 'b.bin'],
    request: ['a.bin', '--request', 'x'],
  },
  verify: { verify: ['a.bin'] },
  attest: { predicate: ['a.bin', '--predicate', 'p.json'], provenance: ['a.bin', '--provenance'] },
  exec: { exec: ['--key', 'x', '--', 'true'] },
  agent: {
    pkcs11: [],
    'ssh-agent': ['--protocol', 'ssh-agent'],
    both: ['--protocol', 'pkcs11,ssh-agent'],
  },
  wrappers: { write: ['/nowhere'] },
  doctor: { all: [], machine: ['gpg'], key: ['gpg', '--key', 'x'] },
  keys: { list: [] },
  certify: { certify: ['x', '--common-name', 'x'] },
  request: { request: ['x'] },
  log: {
    key: ['key'],
    service: ['verify'],
    address: ['verify', 'https://127.0.0.1:9'],
    file: ['verify', '/nowhere'],
  },
  evidence: { verify: ['verify', '/nowhere'] },
  policy: {
    key: ['test', '--key', 'x'],
    request: ['test', '--request', 'x'],
    certificate: ['test', '--certificate', 'x'],
  },
  ssh: {
    login: ['login'],
    renew: ['renew'],
    'setup-host': ['setup-host'],
    'host-certificate': ['setup-host', '--host-certificate'],
  },
  bom: { export: ['export', 'x'], sign: ['sign', 'x'], verify: ['verify', 'x', '--key', 'x'], whole: ['verify', 'x'] },
  sensor: { once: ['/nowhere'], endpoints: ['tls://127.0.0.1'], stay: ['--stay'] },
};

/** Options that select the form of a command. */
const CHOOSING: Readonly<Record<string, readonly string[]>> = {
  login: ['api-key'],
  sign: ['request', 'format', 'collect'],
  policy: ['key', 'request', 'certificate'],
  attest: ['provenance'],
  bom: ['key'],
  doctor: ['key'],
  sensor: ['stay'],
  ssh: ['host-certificate'],
};

const cases = COMMANDS.flatMap((command) =>
  Object.entries(formsOf(command)).flatMap(([form, { uses, isOffline, isSilent }]) => {
    const call = CALLS[command.name]?.[form];
    const idle = { ...command.options, ...COMMON };
    const refused = Object.entries(idle).filter(([name]) => {
      if (name === 'help' || CHOOSING[command.name]?.includes(name) === true) return false;
      if (name === 'url') return isOffline === true;
      return name === 'output' ? isSilent === true : !uses.includes(name);
    });
    return refused.map(([name, { type }]) => ({ command: command.name, form, call, name, type }));
  }),
);

/** Runs the program. Returns the exit code and the text on standard error. */
async function refusal(args: readonly string[]): Promise<{ code: number; said: string }> {
  let said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  return { code: await run(args), said };
}

afterEach(() => vi.restoreAllMocks());

describe('an option or argument that has no effect', () => {
  it('is tested for each form of each command', () => {
    const forms = COMMANDS.flatMap((command) => Object.keys(formsOf(command)).map((form) => `${command.name} ${form}`));
    const tried = Object.entries(CALLS).flatMap(([name, calls]) => Object.keys(calls).map((form) => `${name} ${form}`));
    expect(tried.toSorted()).toEqual(forms.toSorted());
  });

  it.each(cases)('is rejected: sealwright $command ($form) --$name', async ({ command, call, name, type }) => {
    const value = type === 'boolean' ? [] : [name === 'output' ? 'json' : '1'];
    const { code, said } = await refusal([command, `--${name}`, ...value, ...(call ?? [])]);
    expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining(`--${name} has no effect`) });
  });

  it.each([
    ['keys', 'extra'],
    ['agent', 'extra'],
    ['login', '--api-key', 'extra'],
  ])('is rejected as an argument: sealwright %s %s', async (...args) => {
    expect(await refusal(args)).toEqual({ code: 2, said: expect.stringContaining('"extra" has no effect') });
  });

  it.each([
    ['a.efi', '--timestamp', '--timestamp has no effect on a.efi, because sbsign does not support timestamps'],
    ['a.apk', '--timestamp', '--timestamp has no effect on a.apk, because apksigner does not support timestamps'],
    ['a.ko', '--timestamp', '--timestamp has no effect on a.ko, because openssl does not support timestamps'],
    ['a.efi', '--algorithm=sha512', '--algorithm sha512 cannot be used for a.efi: sbsign chooses the hash itself'],
    [
      'a.exe',
      '--algorithm=sha3-256',
      '--algorithm sha3-256 cannot be used for a.exe: osslsigncode supports sha256, sha384, sha512',
    ],
  ])('is rejected if the tool for the file does not support it: sign %s %s', async (file, option, reason) => {
    const { code, said } = await refusal(['sign', file, 'other.bin', option, '--key', 'x']);
    expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining(reason) });
  });
});
