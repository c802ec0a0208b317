//! Code around every run.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::handler::Erased;
use super::run::Running;
use super::{Context, Done, Failure};

/// Something around every run, of any kind.
pub(super) type Layer = Arc<dyn Fn(Context, Next) -> Running + Send + Sync>;

/// The rest of a run: the middleware further in, and in the middle the handler.
///
/// ```no_run
/// # fn of(pool: tenure::Pool) -> tenure::Result<()> {
/// use tenure::worker::{Context, Next, Worker};
///
/// let worker = Worker::builder(pool)
///     .handler("hello", async |_: serde_json::Value, _: Context| Ok(()))
///     .middleware(async |context: Context, next: Next| {
///         let began = std::time::Instant::now();
///         let outcome = next.run(context.clone()).await;
///         println!("{} took {:?}", context.job().kind, began.elapsed());
///         outcome
///     })
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Next {
    layers: Arc<[Layer]>,
    at: usize,
    handler: Erased,
}

impl Next {
    pub(super) fn new(layers: Arc<[Layer]>, handler: Erased) -> Next {
        Next { layers, at: 0, handler }
    }

    /// Goes on with the run. A middleware that does not call it answers in place of the handler.
    pub fn run(mut self, context: Context) -> Pin<Box<dyn Future<Output = Result<Done, Failure>> + Send>> {
        match self.layers.get(self.at).cloned() {
            Some(layer) => {
                self.at += 1;
                layer(context, self)
            }
            None => (self.handler)(context),
        }
    }
}

impl std::fmt::Debug for Next {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Next")
            .field("layers_left", &(self.layers.len() - self.at))
            .finish()
    }
}

/// A closure as a layer.
pub(super) fn of_closure<F, Fut>(middleware: F) -> Layer
where
    F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Done, Failure>> + Send + 'static,
{
    Arc::new(move |context, next| Box::pin(middleware(context, next)))
}
