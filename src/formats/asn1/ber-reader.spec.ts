import { describe, expect, it } from 'vitest';
import { withDefiniteLengths } from './ber-reader.js';

const read = (hex: string) => withDefiniteLengths(Buffer.from(hex.replaceAll(' ', ''), 'hex')).toString('hex');

describe('the conversion of indefinite lengths', () => {
  it('yields definite lengths, including nested ones', () => {
    expect(read('30 80 02 01 05 a0 80 02 01 06 00 00 00 00')).toBe('3008020105a003020106');
  });

  it('joins a segmented octet string', () => {
    expect(read('30 80 24 80 04 02 01 02 04 01 03 00 00 00 00')).toBe('30050403010203');
  });

  it('leaves definite lengths unchanged, even if not minimal', () => {
    expect(read('30 80 30 81 03 02 01 05 00 00')).toBe('3006308103020105');
  });

  it.each([
    ['DER', '30 03 02 01 05'],
    ['without an end', '30 80 02 01 05'],
    ['cut short', '30 80 02 05 01'],
    ['of a tag that has no parts', '04 80 01 00 00'],
    ['nothing', ''],
    ['too deep', `${'30 80 '.repeat(60)}${'00 00 '.repeat(60)}`],
  ])('leaves other input unchanged: %s', (_, hex) => {
    expect(read(hex)).toBe(hex.replaceAll(' ', ''));
  });
});
