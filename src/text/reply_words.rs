//! What people say when they are asked which of several things they mean: word tables in English and Chinese, folded
//! (see [`super::fold()`]), phrases separated by `|`.

/// Chinese numerals, as one chooses and names differ by them.
pub const NUMERALS: &str = "一二三四五六七八九十两";

/// Says nothing about which option is meant, at the beginning of a reply.
pub const LEADING: &str = "the|a|an|please|pls|i|i'm|i'd|i'll|im|my|mine|mean|meant|want|wanted|need|would|like|choose|\
    pick|select|take|let's|lets|let|me|us|we|go|going|with|for|about|of|on|in|at|to|from|by|it's|its|it|is|was|that|that's|\
    this|option|options|number|choice|answer|ok|okay|yes|yeah|yep|sure|right|thanks|thank you|hi|hello|um|uh|hmm|well|\
    so|then|and|actually|sorry|probably|think|guess|say|said|asking|asked|ask|talking|referring|refer|have|own|using|use|\
    what about|how about|just|only|maybe|perhaps|possibly|prefer|both|either|am|was asking|meaning|regarding|concerning|those|these|them|\
    我|我要|我想要|我想|我选|我选择|选|选择|请选|请|请问|我说的是|我指的是|我问的是|我是说|我是指|说的是|指的是|问的是|是|就|就是|就要|就选|\
    那个|那|这个|这|应该是|当然是|我的是|我的|我用的是|我买的是|关于|对于|针对|嗯|好的|好|对|要|想要|给我|麻烦|哦|啊|答案是|答案|选项|\
    不好意思|抱歉|可能是|大概是|可能|大概|也许|或许|也许是|或许是|是的|那就|还是|编号|号码|要的是|想问的是|想问|看|用|按|在|查|\
    definitely|certainly|surely|of course|obviously|clearly|naturally|absolutely|yup|kindly|let it be|make it|that would be|\
    that'd be|it would be|it must be|it should be|must be|should be|would be|i'd go|i'll go|如果可以|\
    请选择|请给我|就选择|有|我有|其中|肯定是|肯定|一定是|绝对是|当然|当然选|错了|不对|确定是|麻烦选";

/// What one does with the option, before its name: 我办金卡. Behind the name it is another matter: 金卡办理.
pub const ACTS: &str = "办|办理|办个|来|来个|换|换成|改成|改为|查询|开|开通|确认|老|用的";

/// Says nothing about which option is meant, at the end of a reply.
pub const TRAILING: &str = "please|pls|thanks|thank you|one|ones|option|options|then|too|i think|i guess|i mean|i meant|\
    is fine|is good|would be fine|is it|it is|for me|of them|of these|of those|ok|okay|will do|sounds good|only|as well|\
    that one|this one|sorry|if possible|if you can|\
    吧|的|呢|了|啊|呀|哦|哈|嘛|啦|谢谢|多谢|那个|这个|那款|这款|那一个|这一个|那种|这种|那一款|就行|就好|就可以|即可|好了|选项|\
    、|可以|那边|那里|的那个|的那款|的那种|这边|方面|一个|都要|哈哈|\
    thx|thanx|ty|tks|tyvm|cheers|thanks in advance|thank you in advance|thanks a lot|thanks so much|thanks very much|many thanks|\
    thank you very much|thank you so much|much appreciated|would be great|would be good|would be nice|would be best|would be perfect|\
    would do|of course|definitely|for sure|certainly|obviously|naturally|absolutely|i suppose|i reckon|indeed|actually|\
    if you don't mind|if you please|kindly|非常感谢|十分感谢|感谢|谢谢您|谢谢你|谢了|谢谢啦|多谢了|麻烦了|拜托|拜托了|辛苦了|即可谢谢|没错|其实";

/// Joins things that are named.
pub const CONNECTORS: &str =
    "and|or|&|+|plus|as well as|and also|also|together with|和|与|跟|及|以及|或|或者|还是|还有|加|加上|并|同|也|nor|、";

/// Begins a part that says what is meant after one that says what is not.
pub const BUT: &str = "but|but rather|rather|instead|而是|而|但是|但|我要的是";

/// What follows is what is not meant.
pub const NEGATORS: &str = "not|except|except for|excluding|without|anything but|all but|everything but|every one but|\
    everything except|everything except for|all except|all except for|any except|anything except|anything other than|\
    other than|any but|but not|neither|nor|don't want|do not want|i don't want|i don't mean|don't mean|don't need|do not need|\
    i don't need|definitely not|certainly not|and not|instead of|rather than|as opposed to|than|\
    除了|除|除去|不是|不要|也不是|也不要|不选|别选|排除|不包括|并不是|并非|不想要|不需要|非|去掉|\
    don't have|do not have|i don't have|i do not have|没有|我没有|never mind|nevermind|never mind about|forget|forget about|skip|ignore|跳过|忽略|不管|先不管|别管";

/// Joins a part that says what is not meant to the one before it: "the first and not the second".
pub const JOINTS: &str = "and|or|&|和|与|跟|及|以及|或|或者|还有|也|、";

/// Begins what is meant behind what is not, in one clause: "不要B7要A5".
pub const TURNS_BACK: &str = "i want|i need|i mean|i meant|i'd like|i would like|give me|it's|it is|\
    要|是|选|选择|想要|需要|我要|我选|我想要|应该是|换|换成|改成";

/// Takes back what was said before it, or what askback took it for.
pub const CORRECTS: &str = "no|nope|nah|no no|no wait|wait|wait no|oh no|oops|sorry|my mistake|my bad|correction|not that|not that one|not this|\
    not this one|no not that|no not that one|wrong|scratch that|actually|no actually|i mean|i meant|no i mean|no i meant|or rather|make that|\
    不|不对|不是|不是的|不不|不不不|哦不|啊不|噢不|错了|搞错了|说错了|弄错了|我说错了|选错了|我选错了|不是那个|不是这个|更正|等等|等一下|抱歉|\
    不好意思|对不起|应该是|我是说|我是指|其实|其实是";

/// The other one of two.
pub const OTHER: &str = "the other|the other one|that other one|my other one|另一个|另外一个|另外那个|另一款|另外一款|另一种|另外一种|另一张|\
    另一项|另一台|另一份|另一本";

/// What the things on offer may be called, beside the noun of the prompt.
pub const NOUNS: &str = "option|item|product|model|plan|version|edition|variant|bullet|bullet point|entry|choice|line|row|document|file|\
    device|machine|type|kind|tier|level|package|alternative|possibility|section|\
    产品|型号|机型|选项|版本|款式|类型|种类|条目|方案|计划|套餐|等级|级别|文件|文档|手册|商品|设备|机器|车型|部分|答案";

/// Ends the noun in a prompt: "Which care plan | do you mean?".
pub const PROMPT_ENDS: &str =
    "do|does|did|is|are|was|were|of|should|would|can|could|shall|will|have|has|you|your|to|for|in|呢|吗|是|还|的";

/// Of these, the ones that begin a part of their own in the middle of a clause: "the first, not the second" without its
/// comma.
pub const TURNS_AWAY: &str = "not|and not|but not|nor|instead of|rather than|as opposed to|than|except|except for|excluding|\
    不是|不要|也不是|也不要|不选|别选|排除|不包括|并不是|并非|不想要|不需要|除了|去掉";

/// Asks whether, and rules nothing out: "是不是第一个".
pub const WHETHER: &str = "是不是|要不要|能不能|会不会|对不对|有没有|可不可以|行不行|好不好|需不需要|算不算";

/// Stands behind what is not meant.
pub const NEGATED_TAIL: &str = "以外|之外|除外|以外的|之外的|外|外的|以外都要|之外都要|以外的都要|之外的都要|以外都可以|之外都可以|\
    以外都行|之外都行|都可以|都行|都要|的都要|其他都要|其他的都要|其它都要|excluded|is not it|isn't it|aside|apart|其余都要|其余的都要|\
    其余的|不是|不要|不行|不对|不用|不需要|错了|搞错了|选错了";

/// Everything that was offered.
pub const ALL: &str = "all|all of them|all of these|all of those|all of the above|all the above|everything above|all options|all the options|both|\
    both of them|both of these|both of those|either|either of them|either one|either is fine|either way|any|any of them|\
    any of these|any of those|anyone|any one|any is fine|each|each of them|each one|every one|every one of them|everything|\
    whatever|whichever|whichever one|doesn't matter which|does not matter which|it doesn't matter which|don't care which|\
    no preference|all two|all three|all four|all five|all six|all seven|all eight|the two|the two of them|the lot|in general|\
    都|都是|全都是|以上都是|以上全是|以上全部|以上全要|以上都要|以上所有|上面都是|上述都是|两个都是|三个都是|都要|全部|全部都要|全部要|全要|全都要|全都|两个|两个都要|两个都|两者|两者都要|二者都要|三个都要|四个都要|几个都要|都行|都可以|\
    都看|都想知道|都想要|都想看|都需要|都选|全选|随便|随意|任意|任何一个|任意一个|哪个都行|哪个都可以|哪一个都行|所有|所有的|所有都要|无所谓|\
    一起|通通|统统|每个|每一个|每个都要|两种都要|两款都要|都说说|都告诉我|都给我|两个都行|两个都可以|一般来说|\
    don't care|do not care|doesn't matter|does not matter|it doesn't matter|it does not matter|doesn't really matter|\
    no matter|no matter which|either works|any works|any will do|either will do|anything|whatever you like|don't mind|do not mind|\
    五个都要|六个都要|七个都要|八个都要|三个都行|四个都行|三个都可以|三个全要|两个全要|全部都行|\
    全部都可以|所有都可以|所有都行|都无所谓|没所谓|随便哪个|随便哪一个|随便一个|随便哪个都行|随你|随便你|随便啦|怎么都行|都一样|哪个都一样|不在乎|无所谓哪个";

/// Whoever says this leaves the choice to the evidence.
pub const UNDECIDED: &str = "i don't know|don't know|dont know|not certain|i'm not certain|not quite sure|not really sure|i am not sure|i dont know|i do not know|no idea|not sure|i'm not sure|\
    im not sure|unsure|i have no idea|you choose|you decide|up to you|no clue|idk|dunno|\
    不知道|我不知道|不清楚|我不清楚|不确定|我不确定|你决定|你选|你看着办|你帮我选|你来定|说不好|不太清楚|不太确定";

/// Nothing that was offered.
pub const NONE: &str = "none|none of them|none of these|none of those|none of the above|none of the options|neither|\
    neither of them|neither of these|neither of those|neither one|not any of them|not any of these|not these|not those|\
    something else|another one|others|other|none of your options|nothing of that|none fits|not listed|not in the list|\
    not on the list|none is right|none are right|\
    都不是|都不对|都不要|以上都不要|以上全不是|以上皆非|上面都不是|上述都不是|都不符合|以上都不符合|全都不是|全不是|全都不对|以上都不是|以上都不对|一个都不是|一个也不是|没有一个是|没有一个|没有一个对|哪个都不是|\
    这些都不是|这些都不对|两个都不是|两个都不对|两者都不是|三个都不是|不是这些|不是这两个|不在里面|不在其中|其他|其它|其他的|其它的|别的|另外的|都没有|\
    不在列表里|不在列表中|里面没有|这里面没有|列表里没有|均不是";

/// Declines to answer, whatever follows.
pub const DECLINES: &str = "never mind|nevermind|never mind that|nvm|forget it|forget that|forget about|never mind about|forget about it|forget i asked|\
    forget the question|no thanks|no thank you|no need|drop it|leave it|skip it|skip that|skip this|skip the question|\
    don't bother|do not bother|ignore that|ignore it|no longer needed|not needed|don't worry about it|scratch that|\
    算了|算了吧|还是算了|还是算了吧|那算了|那就算了|那就算了吧|罢了|不用了|不必了|不需要了|不麻烦了|别问了|不问了|没事了|不想问了|不想知道了|\
    当我没说|当我没问|当我没问过|先不管了|不管了|不要问了|免了|还是不用了|不用麻烦了|没必要了|不查了|不找了|不用查了|别管了";

/// Declines only when nothing follows, or behind a comma: "cancel my order" is a question of its own.
pub const BARE_DECLINES: &str = "stop|cancel|quit|exit|abort|skip|pass|no|nope|nah|enough|dismiss|stop it|stop asking|\
    not now|cancel that|cancel it|cancel this|end|nothing|forget|that's all|that is all|i changed my mind|changed my mind|\
    停|停止|取消|跳过|不用|不必|不需要|没事|没什么|没有了|不|不了|退出|放弃|结束|不要了|别|不想说|不说了|换个问题|换一个问题|换个话题|忽略|\
    不要|下次再说|以后再说|再说吧|再说";

/// Words that make a sentence a question when it begins with them.
pub const LEADING_QUESTION: &str = "who|what|what's|whats|when|where|where's|why|how|how's|which|whose|whom|can|could|do|does|did|is|are|was|\
    were|will|would|should|shall|may|might|has|have|had|am|isn't|aren't|don't|doesn't|didn't|can't|couldn't|won't";

/// Words that make a sentence a question wherever they stand.
pub const QUESTION: &str = "what|what's|why|how|whose|\
    什么|怎么|怎样|如何|为什么|为何|为啥|啥|哪|谁|多少|多久|多长|多大|多远|几个|几天|几年|几种|吗|么|是否|能否|可否|有没有|是不是|能不能|\
    可不可以|要不要|何时|何处|需不需要|会不会|对不对|多高|多重|区别";

/// Words that stand for a request when a sentence begins with them.
pub const REQUESTS: &str = "tell|show|give|explain|list|describe|compare|find|write|translate|summarize|summarise|help|\
    send|make|open|look|search|check|calculate|create|define|delete|remove|remind|book|order|call|turn|set|play|change|\
    update|draft|compute|print|reset|install|remember|recommend|suggest|read|get me|i want to know|i would like to know|\
    i'd like to know|i need to|i want to|i have a question|new question|another question|different question|question|\
    告诉|介绍|说明|列出|解释|比较|对比|翻译|总结|概括|帮|写|给我写|查一下|查询|查找|搜索|搜一下|讲|说说|谈谈|描述|打开|播放|提醒|计算|生成|\
    我想知道|我想了解|想知道|想了解|我想问|请告诉|请问|请介绍|请说明|请列出|请解释|请帮|请比较|换个问题|另外问|另一个问题|再问|推荐|我需要办|\
    重置|安装|删除|修改|更新|预订|预定";

/// Finite verbs and auxiliaries: what holds one is a sentence, not the name of a thing.
pub const VERBS: &str = "is|are|was|were|has|had|does|did|do|can|can't|cannot|could|will|won't|would|should|must|isn't|\
    aren't|doesn't|don't|didn't|broke|broken|works|happened|happens|keeps|says|said|needs|wants|lasts|\
    means|i've|i'm|you're|it's|he's|she's|they're|there's|arrived|bought|lost|\
    坏了|不能|无法|需要|必须|应该|可以|发生|出现|已经|正在|收到|丢了|怎";

/// Countries and regions: the type "place".
pub const PLACES: &str = "germany|france|italy|spain|portugal|austria|switzerland|netherlands|belgium|poland|sweden|norway|\
    denmark|finland|ireland|greece|hungary|czechia|romania|russia|ukraine|turkey|uk|united kingdom|britain|england|scotland|\
    us|usa|united states|america|canada|mexico|brazil|argentina|chile|china|mainland china|hong kong|taiwan|macau|japan|\
    korea|south korea|india|singapore|malaysia|thailand|vietnam|indonesia|philippines|australia|new zealand|egypt|\
    south africa|nigeria|kenya|israel|saudi arabia|uae|eu|europe|european union|asia|africa|north america|south america|\
    latin america|middle east|london|paris|berlin|new york|tokyo|beijing|shanghai|shenzhen|guangzhou|\
    德国|法国|意大利|西班牙|葡萄牙|奥地利|瑞士|荷兰|比利时|波兰|瑞典|挪威|丹麦|芬兰|爱尔兰|希腊|俄罗斯|乌克兰|土耳其|英国|美国|加拿大|墨西哥|\
    巴西|阿根廷|中国|中国大陆|大陆|香港|台湾|澳门|日本|韩国|印度|新加坡|马来西亚|泰国|越南|印度尼西亚|菲律宾|澳大利亚|澳洲|新西兰|埃及|南非|以色列|\
    欧洲|欧盟|亚洲|非洲|北美|南美|拉丁美洲|中东|北京|上海|深圳|广州|杭州|成都|武汉|南京|西安|重庆|天津|苏州|国内|国外|海外|华东|华南|华北|西南|西北|东北";

/// Words of a slot's name that tell its type.
pub const DATE_SLOT: &str =
    "year|date|period|month|quarter|day|time|when|version year|年|日期|月|季度|时间|期间|年份|哪一年";
/// The same for places.
pub const PLACE_SLOT: &str =
    "place|country|city|region|location|state|province|where|area|国家|城市|地区|地点|省|哪里|区域|地方|国";
/// The same for amounts.
pub const AMOUNT_SLOT: &str = "amount|quantity|size|weight|height|length|power|capacity|price|how many|how much|数量|金额|尺寸|重量|长度|功率|容量|价格|多少";

/// Months and parts of the year.
pub const DATE_WORDS: &str = "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|\
    mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|today|yesterday|tomorrow|spring|summer|autumn|fall|winter|q1|q2|q3|q4|\
    last year|this year|next year|last month|this month|monday|tuesday|wednesday|thursday|friday|saturday|sunday|\
    今天|昨天|明天|去年|今年|明年|前年|上个月|这个月|上月|本月|春|夏|秋|冬|春季|夏季|秋季|冬季|年初|年底|第一季度|第二季度|第三季度|第四季度";

/// What people say who have not understood, or have nothing to say: no option is meant by it, and nothing else is asked.
pub const PUZZLED: &str = "what|what's that|what is that|what's this|what is this|what do you mean|what does that mean|what does this mean|\
    what do you mean by that|i don't know what you mean|why|why that|why do you ask|how|how so|who|which|which one|which ones|when|\
    where|huh|eh|hm|hmmm|hmmmm|mm|mmm|mhm|umm|ummm|uhm|er|erm|uhh|uh huh|oh|ooh|ah|aha|lol|haha|hahaha|pardon|pardon me|come again|\
    say again|say that again|excuse me|sorry what|i don't understand|don't understand|i do not understand|i don't get it|\
    don't get it|not clear|unclear|you tell me|guess|guess what|take a guess|you guess|have a guess|so what|really|hey|\
    good question|let me think|let me see|wait|hold on|one moment|\
    什么|什么意思|什么啊|什么呀|啥|啥意思|什么鬼|为什么|为啥|怎么|怎么了|哪个|哪个啊|哪一个|哪款|哪些|谁|吗|不懂|我不懂|不明白|我不明白|\
    没懂|没看懂|看不懂|听不懂|没明白|不理解|你猜|你猜呢|你猜猜|你猜猜看|猜|猜猜看|你说呢|你觉得呢|呵呵|哈哈哈|嘻嘻|呃|额|嗯嗯|唔|咦|噢|喔|\
    是吗|真的|真的吗|再说一遍|再说一次|行|行吧|好吧|你好|您好|等等|等一下|稍等|我想想|让我想想|这样啊|原来如此";

/// Says nothing beside an option's name: whose it is, what sort of thing, since when.
pub const FILLER: &str = "one|ones|model|product|item|device|machine|unit|version|variant|edition|type|kind|thing|document|file|manual|\
    guide|named|called|specifically|exactly|bought|buy|purchased|got|owned|owner|currently|home|question|case|info|information|know|user|customer|member|holder|subscriber|\
    该|此|这个|那个|产品|型号|机型|机器|设备|商品|版本|款|文档|文件|手册|资料|买|买的|购买|家里|家|用|问题|情况|信息|请问|具体|知道|了解|想知道|想了解|麻烦|帮忙|一下|用户|会员|客户|持有|拥有|持卡人|刚|刚办";

/// Asks to be told, and chooses nothing, even where an option is named: "tell me about the first".
pub const ORDERS: &str =
    "tell|show|explain|describe|list|compare|summarize|summarise|give me|告诉|介绍|说明|解释|描述|列出|比较|对比|总结";

/// Begins a remark on what was named: "Aurora X1, I bought it in May".
pub const REMARK_BEGINS: &str = "i|i've|i'm|my|mine|we|our|我|我们|我的";
/// Begins a description of what was named: "M5, the one for the office".
pub const DESCRIBES: &str = "the one|the ones|that one|for the|for my|for our|in the|in my|in our|it's for|it is for|it's the one|it is the one|\
    which i|which we|that i|that we";
/// Ends a description: 办公室那台.
pub const DESCRIBED: &str = "one|ones|的|那个|这个|那款|这款|那台|这台";
/// Ends a remark: "Aurora X1, the white one".
pub const REMARK_ENDS: &str = "one|ones|的|那个|这个|那款|这款|那台|这台|了";

/// Points back at what was named before: "How heavy is it?" after a name.
pub const POINTS_BACK: &str =
    "it|its|it's|that one|this one|they|them|their|它|它们|这个|那个|这款|那款|该款|该产品|此款|这台|那台";
