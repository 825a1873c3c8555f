import { describe, expect, it } from 'vitest';
import { RotationTarget } from '../model/rotation-target.entity.js';
import { Rotation } from '../model/rotation.entity.js';
import { endingOf, haltOf, progressOf } from './rollout-rules.js';

function targetsOf(...given: Partial<RotationTarget>[]): RotationTarget[] {
  const open = { state: 'PLANNED', outcome: 'OPEN', wave: 0, failureCode: null, failureDetail: null } as const;
  return given.map((target) => Object.assign(new RotationTarget(), open, target));
}

function rotationOf(given: Partial<Rotation> & { onFailure?: 'halt' | 'skip' } = {}): Rotation {
  const { onFailure = 'halt', ...rest } = given;
  const running = { status: 'RUNNING', wave: 0, dryRun: false, promotedAt: null, settings: { onFailure } };
  return Object.assign(new Rotation(), running, rest);
}

const haltCode = (rotation: Rotation, targets: RotationTarget[]) => haltOf(rotation, progressOf(targets))?.code;
const failed = { outcome: 'FAILED_PRECHECK' } as const;

describe('a rotation halts', () => {
  it('at the first failure, unless failed hosts are to be skipped', () => {
    const targets = targetsOf({ wave: 1 }, { ...failed, wave: 1 });
    expect(haltCode(rotationOf({ wave: 1 }), targets)).toBe('rotation.halted');
    expect(haltCode(rotationOf({ wave: 1, onFailure: 'skip' }), targets)).toBeUndefined();
  });

  it('when the canary fails, even if failed hosts are to be skipped', () => {
    expect(haltCode(rotationOf({ onFailure: 'skip' }), targetsOf(failed, { wave: 1 }))).toBe('rotation.halted');
  });

  it('when more than two hosts of a wave, or more than one in twenty, fail', () => {
    const wave = (size: number, failures: number) =>
      targetsOf(...Array.from({ length: size }, (_, i) => ({ wave: 2, ...(i < failures ? failed : {}) })));
    const rotation = rotationOf({ wave: 2, onFailure: 'skip' });
    expect([2, 3].map((failures) => haltCode(rotation, wave(20, failures)))).toEqual([undefined, 'rotation.halted']);
    expect([5, 6].map((failures) => haltCode(rotation, wave(100, failures)))).toEqual([undefined, 'rotation.halted']);
  });

  it('when the holder has not proven possession of its key, whatever else may fail', () => {
    const targets = targetsOf({ ...failed, wave: 1, failureCode: 'rotation.holder-unproven' }, { wave: 1 });
    expect(haltCode(rotationOf({ wave: 1, onFailure: 'skip' }), targets)).toBe('rotation.holder-unproven');
  });

  it('but not after the handover, and not in a dry run', () => {
    const targets = targetsOf(failed, {});
    expect(haltCode(rotationOf({ promotedAt: new Date() }), targets)).toBeUndefined();
    expect(haltCode(rotationOf({ dryRun: true }), targets)).toBeUndefined();
  });

  it('after the handover with the reason that allows a rollback, once the requester has lost the right', () => {
    const targets = targetsOf({ outcome: 'BLOCKED', failureCode: 'rotation.rights-lost' }, {});
    expect(haltCode(rotationOf({ promotedAt: new Date() }), targets)).toBe('rotation.rights-lost');
  });
});

it.each([
  ['DONE', ['PROVEN', 'PROVEN']],
  ['PARTIAL', ['PROVEN', 'SKIPPED']],
  ['ROLLED_BACK', ['ROLLED_BACK', 'FAILED_PRECHECK']],
  ['HALTED', ['PROVEN', 'BLOCKED']],
  ['CRITICAL', ['PROVEN', 'CRITICAL']],
] as const)('a rotation ends as %s with targets in %s', (status, outcomes) => {
  const progress = progressOf(targetsOf(...outcomes.map((outcome) => ({ outcome }))));
  expect(endingOf(rotationOf(), progress).status).toBe(status);
});

it('a wave is complete when each of its targets has ended or waits for the handover', () => {
  const progress = progressOf(targetsOf({ outcome: 'PROVEN' }, { state: 'PERMANENT' }, { wave: 1, state: 'VERIFIED' }));
  expect([progress.isThrough(0), progress.isThrough(1), progress.lastWave]).toEqual([true, false, 1]);
});
