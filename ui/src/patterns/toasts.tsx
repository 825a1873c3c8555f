import { Alert, AlertActionCloseButton, AlertGroup } from '@patternfly/react-core';
import { createContext, type ReactNode, use, useCallback, useState } from 'react';

type Say = (title: string, variant?: 'success' | 'danger' | 'info') => void;

const Context = createContext<Say>(() => undefined);
const SHOWN_MS = 8000;

/** Toasts reports success and finished background work. Screen readers announce toasts, which close after a while. */
export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<
    readonly { id: number; title: string; variant: 'success' | 'danger' | 'info' }[]
  >([]);
  const remove = useCallback((id: number) => setToasts((before) => before.filter((toast) => toast.id !== id)), []);
  const notify = useCallback<Say>((title, variant = 'success') => {
    setToasts((before) => [...before, { id: performance.now(), title, variant }]);
  }, []);
  return (
    <Context value={notify}>
      {children}
      <AlertGroup isToast isLiveRegion>
        {toasts.map(({ id, title, variant }) => (
          <Alert
            key={id}
            // Toasts are not part of the page's heading structure.
            component="p"
            variant={variant}
            title={title}
            timeout={SHOWN_MS}
            onTimeout={() => remove(id)}
            actionClose={<AlertActionCloseButton onClose={() => remove(id)} />}
          />
        ))}
      </AlertGroup>
    </Context>
  );
}

export const useToast = (): Say => use(Context);
