import ArgumentParser
import Settings

/// The options of `cairn run`: the board file, and those of every setting.
struct RunOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file that describes the board: any of the options here, and its advertising. (default: $CAIRN_BOARD, else none)",
            valueName: "file"
        ),
        transform: pathArgument
    )
    var board: String?

    @OptionGroup var settings: SettingOptions<RunSettings>
}
