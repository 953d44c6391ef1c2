import Hummingbird
import Logging
import NIOCore

/// What goes with a request on its way.
struct WebContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection.
    let channel: any Channel
    /// Who asks, once that is known.
    var client: Tokens.Client?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
