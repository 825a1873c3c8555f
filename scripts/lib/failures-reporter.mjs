import { say } from './steps.mjs';

/** FailuresReporter is a Vitest reporter that prints each failure when it happens, because a run can take many minutes. */
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
