import { describe, expect, it } from 'vitest';
import { descriptorOf, lastValue, readGpgCall } from './gpg-arguments.js';

/** The tests use command lines of common tools. */
describe('a gpg command line', () => {
  it('from git commit combines short options, followed by the key', () => {
    const call = readGpgCall(['--status-fd=2', '-bsau', 'release@example.org']);
    expect(call.task).toBe('detach');
    expect(call.flags.has('armor')).toBe(true);
    expect([lastValue(call, 'status-fd'), lastValue(call, 'local-user')]).toEqual(['2', 'release@example.org']);
    expect(call.operands).toEqual([]);
  });

  it('from rpmsign has the output after short options and the file after --', () => {
    const line =
      '--no-verbose --no-armor --no-secmem-warning --digest-algo sha256 -u Release -sbo /tmp/a.sig -- /tmp/a';
    const call = readGpgCall(line.split(' '));
    expect(call.task).toBe('detach');
    expect(call.flags.has('armor')).toBe(false);
    expect([lastValue(call, 'output'), call.operands]).toEqual(['/tmp/a.sig', ['/tmp/a']]);
  });

  it.each([
    ['--armour -b a', true],
    ['--no-armor --armor -b a', true],
    ['--armor --no-armour -b a', false],
    ['-a --no-armor -b a', false],
  ])('%s: the last armor option applies, in either spelling', (line, armored) => {
    expect(readGpgCall(line.split(' ')).flags.has('armor')).toBe(armored);
  });

  it('from debsign clear-signs text', () => {
    const line =
      '--no-auto-check-trustdb --local-user K --clearsign --list-options no-show-policy-urls --armor --textmode --output a.asc a';
    const call = readGpgCall(line.split(' '));
    expect([call.task, lastValue(call, 'output'), call.operands]).toEqual(['clearsign', 'a.asc', ['a']]);
  });

  it('from GPGME passes data through file descriptors', () => {
    const line =
      '--enable-special-filenames --batch --status-fd 5 --no-tty --charset utf8 --sign --detach --armor -u K -- -&7';
    const call = readGpgCall(line.split(' '));
    expect([call.task, call.operands.map((name) => descriptorOf(call, name))]).toEqual(['detach', [7]]);
    expect(descriptorOf(readGpgCall(['-b', '-&7']), '-&7')).toBeUndefined();
  });

  it('from Maven has a key, an output and a file', () => {
    const line = '--local-user K --batch --no-tty --armor --detach-sign --output /t/a.jar.asc /t/a.jar';
    const call = readGpgCall(line.split(' '));
    expect([call.task, lastValue(call, 'output'), call.operands]).toEqual(['detach', '/t/a.jar.asc', ['/t/a.jar']]);
  });

  it.each(['--verify a.asc a', '--version', '--import', '--keyid-format=long --list-keys K', '-d a.gpg', '-se a'])(
    '%s is passed to the real gpg',
    (line) => expect(readGpgCall(line.split(' ')).task).toBe('other'),
  );

  it.each([
    '--input-size-hint 1234',
    '--pinentry-mode loopback --passphrase-fd 0',
    '--debug-level basic --auto-key-locate local --homedir /t/home',
    '--max-output 1000000 --cert-policy-url https://example.org/',
  ])('%s: option values are not files to sign', (options) => {
    const call = readGpgCall([...options.split(' '), '-ab', 'app.tar.gz']);
    expect([call.task, call.operands]).toEqual(['detach', ['app.tar.gz']]);
  });

  it('reads text after an option letter as the value of that option', () => {
    expect(lastValue(readGpgCall(['-bu0xABCD']), 'local-user')).toBe('0xABCD');
  });
});
