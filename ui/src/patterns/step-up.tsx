import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { type ApiProblem, problemOf } from '../api/problem.js';
import { takeStepUpResult } from '../api/provider-step-up.js';
import { useI18n } from '../i18n/i18n.js';
import { StepUpDialog } from './step-up-dialog.js';
import { useToast } from './toasts.js';

type Guarded = <Result>(work: () => Promise<Result>) => Promise<Result>;

interface Asking {
  readonly guarded: Guarded;
  /** While the step-up dialog is open, the dialog that caused it is hidden, so that only one is open. */
  readonly isAsking: boolean;
}

const Context = createContext<Asking | undefined>(undefined);

/**
 * StepUp handles step-up authentication (RFC 9470). If the service returns `auth.step-up`, the person confirms their identity and the call is
 * repeated. After a redirect to an identity provider, the person repeats the action.
 */
export function StepUp({ children }: { children: ReactNode }) {
  useProviderResult();
  const waiting = useRef<{ go: () => void; stop: (error: unknown) => void }>(undefined);
  const [error, setError] = useState<ApiProblem>();
  const guarded = useCallback<Guarded>(async (work) => {
    try {
      return await work();
    } catch (cause) {
      const problem = problemOf(cause);
      if (problem.code !== 'auth.step-up') throw problem;
      await new Promise<void>((go, stop) => {
        waiting.current = { go, stop };
        setError(problem);
      });
      return work();
    }
  }, []);
  const isAsking = error !== undefined;
  const value = useMemo<Asking>(() => ({ guarded, isAsking }), [guarded, isAsking]);
  return (
    <Context value={value}>
      {children}
      {error !== undefined && (
        <StepUpDialog
          onDone={() => {
            setError(undefined);
            waiting.current?.go();
          }}
          onCancel={() => {
            setError(undefined);
            waiting.current?.stop(error);
          }}
        />
      )}
    </Context>
  );
}

/** useProviderResult reports the result of a step-up after the redirect back from the identity provider. */
function useProviderResult(): void {
  const { t } = useI18n();
  const notify = useToast();
  useEffect(() => {
    const outcome = takeStepUpResult();
    if (outcome === undefined) return;
    if (outcome.error === undefined) notify(t('stepUp.confirmed'));
    else notify(t('stepUp.notConfirmed', { code: outcome.error }), 'danger');
  }, [notify, t]);
}

export function useStepUp(): Asking {
  const asking = use(Context);
  if (asking === undefined) throw new Error('StepUp is missing above this component');
  return asking;
}
