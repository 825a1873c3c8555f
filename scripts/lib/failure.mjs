/** Failure is an expected error, which is shown without a stack trace. */
export class Failure extends Error {
  /**
   * @param {string} message what went wrong
   * @param {string} [advice] what to do
   * @param {string} [detail] output of the tool that failed
   */
  constructor(message, advice = '', detail = '') {
    super(message);
    this.name = 'Failure';
    this.advice = advice;
    this.detail = detail;
  }
}
