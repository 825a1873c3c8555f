import { describe, expect, it } from 'vitest';
import { fileToolFor } from './file-tools.js';
import { assertWindowsReads } from './jsign.js';

const ORDER = {
  file: '/in/a.ps1',
  out: '/out/a.ps1',
  key: 'release',
  chain: '/out/chain.pem',
  keyType: 'rsa-3072',
  algorithm: undefined,
  timestamps: undefined,
};

describe('Windows scripts', () => {
  it('are signed by jsign with the named key, through the Java PKCS #11 provider', () => {
    const { program, args } = fileToolFor('Deploy.PS1')?.sign({ ...ORDER, authorities: undefined }) ?? {};
    expect([program, ...(args ?? [])].join(' ')).toBe(
      'jsign --storetype PKCS11 --keystore {java} --storepass any --alias release --alg SHA-256 --replace /out/a.ps1',
    );
  });

  it.each(['a.ps1', 'a.psm1', 'a.psd1', 'a.ps1xml'])('%s is verified by osslsigncode against authorities', (file) => {
    const tool = fileToolFor(file);
    expect(tool?.verify({ ...ORDER, authorities: 'root.pem' })).toMatchObject({
      program: 'osslsigncode',
      args: ['verify', '-CAfile', 'root.pem', '-in', '/out/a.ps1'],
      needs: { version: '2.8' },
    });
    expect(tool?.verify({ ...ORDER, authorities: undefined })).toMatchObject({
      unchecked: expect.stringContaining('--authorities'),
    });
  });

  it.each(['a.vbs', 'a.wsf'])('%s cannot be verified, even with authorities', (file) => {
    const tool = fileToolFor(file);
    expect(tool?.program).toBe('jsign');
    expect(tool?.verify({ ...ORDER, authorities: 'root.pem' })).toMatchObject({
      unchecked: expect.stringContaining('Get-AuthenticodeSignature'),
    });
  });

  it.each(['a.js', 'a.ps1.txt', 'ps1'])('%s is not treated as a script', (file) => {
    expect(fileToolFor(file)).toBeUndefined();
  });
});

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');

describe('a script whose signature is valid on Windows', () => {
  it.each([
    ['ASCII', Buffer.from('a\r\nb\r\n')],
    ['nothing', Buffer.alloc(0)],
    ['one line', Buffer.from('a')],
    ['UTF-8 with its mark', Buffer.from('\uFEFFgrün\r\n')],
    ['UTF-16LE with its mark', utf16('\uFEFFgrün\r\n\u0A0A')],
    ['UTF-16BE with its mark', utf16('\uFEFFgrün\r\n').swap16()],
  ])('%s', (_, script) => {
    expect(() => assertWindowsReads('a.ps1', script)).not.toThrow();
  });

  it.each([
    ['UTF-8 without a mark', Buffer.from('grün\r\n'), 'a.ps1 is not ASCII and has no byte order mark'],
    ['a mark that is cut off', Buffer.from('efbb', 'hex'), 'no byte order mark'],
    ['another encoding', Buffer.from('grün\r\n', 'latin1'), 'Save it as UTF-8 with a byte order mark'],
    ['Unix line ends', Buffer.from('a\r\nb\n'), 'unix2dos a.ps1'],
    ['an empty first line of Unix', Buffer.from('\na'), 'Unix line endings'],
    ['Unix line ends behind a mark', Buffer.from('\uFEFFa\n'), 'Unix line endings'],
  ])('cannot be %s', (_, script, said) => {
    expect(() => assertWindowsReads('a.ps1', script)).toThrow(said);
  });
});
