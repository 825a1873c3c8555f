import { say } from './steps.mjs';

/** A reporter for Vitest that tells of each failure when it happens, not at the end of a run that takes many minutes. */
export default class FailuresReporter {
  onTestCaseResult(test) {
    const { state, errors } = test.result();
    if (state === 'failed') tell(`${test.module.relativeModuleId} > ${test.fullName}`, errors);
  }

  onTestModuleEnd(module) {
    if (module.errors().length > 0) tell(module.relativeModuleId, module.errors());
  }
}

function tell(name, errors) {
  const reasons = errors.map(({ message, diff, stack }) => [message, diff, stack].filter(Boolean).join('\n'));
  say(`✖ ${name}\n${reasons.join('\n')}\n`);
}
