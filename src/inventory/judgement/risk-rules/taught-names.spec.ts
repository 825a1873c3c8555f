import { describe, expect, it } from 'vitest';
import type { RiskSubject } from '../../model/risk-subject.js';
import { algorithmUsesOf } from '../names/algorithm-uses.js';
import { DEFAULT_RULES } from '../risk/default-rules.js';
import { RiskEngine } from '../risk/risk-engine.js';

const taught = (name: string, means: string) => ({ name, means, reason: 'the manual', by: 'me', at: '2026-11-26' });
const engineWith = (...names: ReturnType<typeof taught>[]) => new RiskEngine({ ...DEFAULT_RULES, names });

describe('a taught name', () => {
  const unknown: RiskSubject = {
    kind: 'algorithm',
    ingredients: [],
    quality: ['unknown-algorithm'],
    unread: ['PaymentCipher'],
  };

  it('is read as its meaning, regardless of case', () => {
    expect(engineWith(taught('PAYMENTCIPHER', 'DES')).judge(unknown)).toMatchObject({
      level: 'CRITICAL',
      family: 'DES',
    });
  });

  it('replaces a reading that covered only the hash', () => {
    const signature: RiskSubject = {
      kind: 'algorithm',
      ingredients: algorithmUsesOf('SHA256withFOO'),
      quality: ['unread-public-key'],
      unread: ['SHA256withFOO'],
    };
    expect(engineWith(taught('SHA256withFOO', 'ML-DSA-65')).judge(signature).level).toBe('NONE');
    expect(engineWith(taught('SHA256withFOO', 'SHA256withRSA')).judge(signature)).toMatchObject({
      level: 'MEDIUM',
      family: 'RSA',
    });
  });

  it('applies to itself only: other unknown names stay unknown', () => {
    const both: RiskSubject = { ...unknown, unread: ['PaymentCipher', 'OtherSign'], quality: ['unread-public-key'] };
    expect(engineWith(taught('PaymentCipher', 'AES-256')).judge(both)).toMatchObject({
      level: 'MEDIUM',
      rule: 'Z-UNREAD-PUBLIC-KEY',
    });
  });
});
