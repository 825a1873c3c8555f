import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { type ApiProblem, problemOf } from '../api/problem.js';
import { backFromProvider } from '../api/provider-step-up.js';
import { useI18n } from '../i18n/i18n.js';
import { StepUpDialog } from './step-up-dialog.js';
import { useToast } from './toasts.js';

type Guarded = <Result>(work: () => Promise<Result>) => Promise<Result>;

interface Asking {
  readonly guarded: Guarded;
  /** A person is being asked: what they were at steps back, so that there is one dialog at a time. */
  readonly isAsking: boolean;
}

const Context = createContext<Asking | undefined>(undefined);

/**
 * What matters wants a person who has shown who they are within five minutes. When the service says so, this has them do that and
 * then goes on with what was to be done. Who was led to their identity provider for it begins it again.
 */
export function StepUp({ children }: { children: ReactNode }) {
  useWordFromProvider();
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

/** Tells who comes back from their identity provider how it went. */
function useWordFromProvider(): void {
  const { t } = useI18n();
  const say = useToast();
  useEffect(() => {
    const outcome = backFromProvider();
    if (outcome === undefined) return;
    if (outcome.error === undefined) say(t('stepUp.confirmed'));
    else say(t('stepUp.notConfirmed', { code: outcome.error }), 'danger');
  }, [say, t]);
}

export function useStepUp(): Asking {
  const asking = use(Context);
  if (asking === undefined) throw new Error('outside of StepUp');
  return asking;
}
